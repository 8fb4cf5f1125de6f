/**
 * For tests: loaded by each process of a round before its program, and before the engine. The lease
 * of an oracle never ends, as in the mutant `lease-of-oracle-never-ends`. Each cut stops the host
 * of the leading oracle for longer than its lease, on a slow machine and on a fast one.
 */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';

/** By end of a file's name: what stands there once, and what stands there instead. */
const CHANGES: ReadonlyMap<string, readonly (readonly [before: string, after: string])[]> = new Map(
  [
    [
      '/engine/oracle/leased-allocator.ts',
      [['    if (!this.#mayHandOut) return undefined;\n', '']] as const,
    ],
    [
      '/chaos/cuts.ts',
      [
        ['const left = [...names]', "const left = ['stopped']"],
        ['    forMs: ', '    forMs: 2 * ORACLE_LEASE_MS,\n    drawnMs: '],
      ] as const,
    ],
    [
      '/chaos/harm.ts',
      [['stopped: pick([...hosts, master ?? leader], victim)', 'stopped: leader']],
    ],
  ],
);

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    const [, changes = []] = [...CHANGES].find(([end]) => url.endsWith(end)) ?? [];
    if (changes.length === 0) return loaded;
    assert.ok(loaded.source instanceof Uint8Array, 'modules are read as bytes');
    let source = Buffer.from(loaded.source).toString();
    for (const [before, after] of changes) {
      assert.equal(source.split(before).length, 2, `${before} stands in one place`);
      source = source.replace(before, after);
    }
    return { ...loaded, source };
  },
});
