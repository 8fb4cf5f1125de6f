/** For tests: a module that is loaded before a program, and plants mistakes in what that loads. */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';

/** What stands once in a file, and what stands there instead. */
export type Change = readonly [before: string, after: string];

/** @param changes by the end of a file's name */
export function plant(changes: Readonly<Record<string, readonly Change[]>>): void {
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      const [, ofFile = []] = Object.entries(changes).find(([end]) => url.endsWith(end)) ?? [];
      if (ofFile.length === 0) return loaded;
      assert.ok(loaded.source instanceof Uint8Array, 'modules are read as bytes');
      let source = Buffer.from(loaded.source).toString();
      for (const [before, after] of ofFile) {
        assert.equal(source.split(before).length, 2, `${before} stands in one place`);
        source = source.replace(before, after);
      }
      return { ...loaded, source };
    },
  });
}
