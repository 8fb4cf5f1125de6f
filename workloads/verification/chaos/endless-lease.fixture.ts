/**
 * For tests: loaded by each process of a round before its program, and before the engine. The lease
 * of an oracle never ends, as in the mutant `lease-of-oracle-never-ends`.
 */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';

const FILE = '/engine/oracle/leased-allocator.ts';
const CHECK = '    if (!this.isLeased) return undefined;\n';

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(FILE)) return loaded;
    assert.ok(loaded.source instanceof Uint8Array, 'modules are read as bytes');
    const parts = Buffer.from(loaded.source).toString().split(CHECK);
    assert.equal(parts.length, 2, 'the lease is checked in one place');
    return { ...loaded, source: parts.join('') };
  },
});
