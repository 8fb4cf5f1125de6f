/** A decorated store is a Bigtable, and everything that is not replaced is its store's. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryBigtable } from '../testing/index.ts';
import type { Bigtable } from './bigtable.ts';
import { conformanceSuite } from './conformance.ts';
import { decorate } from './decorate.ts';

conformanceSuite('a decorated store', async () => decorate(createMemoryBigtable(), {}));

test('a replaced member is called instead of the one of the store', async () => {
  const store = createMemoryBigtable();
  const manifest = { ...store.manifest, ordered: false };
  const decorated = decorate(store, { manifest, listTables: async () => ['replaced'] });
  assert.deepEqual(await decorated.listTables(), ['replaced']);
  assert.deepEqual(await store.listTables(), []);
  assert.equal(decorated.manifest, manifest);
});

test('disposing calls the replaced close, and not the one of the store', async () => {
  const store = createMemoryBigtable();
  let closed = 0;
  {
    await using _ = decorate(store, { close: async () => void closed++ });
  }
  assert.equal(closed, 1);
  assert.deepEqual(await store.listTables(), []);
});

test('listeners reach a store that has onChange; over a store without it, the decorated one has none', () => {
  const memory = createMemoryBigtable();
  assert.equal(decorate(memory, {}).onChange, undefined);
  const heard: string[] = [];
  class Telling {
    readonly name = 'store';
    onChange(listener: () => void): () => void {
      heard.push(this.name);
      listener();
      return () => heard.push('ended');
    }
  }
  const telling = Object.assign(new Telling(), { manifest: memory.manifest }) as Partial<Bigtable>;
  decorate(telling as Bigtable, {}).onChange?.(() => heard.push('changed'))();
  assert.deepEqual(heard, ['store', 'changed', 'ended']);
});
