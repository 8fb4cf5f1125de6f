/** What is counted as progress, and what stays in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { clusterOneByOne, createSyntheticDocuments, type Partition } from './documents/index.ts';
import { emulatorOrReason } from '../harness/testing/emulator.ts';
import { openRepositoryStore, type RepositoryStore } from './prepared.ts';

test('loading the repository anew for a point does not advance the progress, which counts points', async (t) => {
  const emulator = await emulatorOrReason();
  if (typeof emulator === 'string') return t.skip(emulator);
  await using _ = emulator;
  process.env['BIGTABLE_EMULATOR_HOST'] = emulator.address;
  const repository = 5_000;
  const documents = createSyntheticDocuments({ repository, documentBytes: 200, seed: 1 });
  const partition = clusterOneByOne(documents.range(0, repository));
  const reported: number[] = [];
  await using store = await openRepositoryStore({
    store: 'emulator',
    regionServers: 1,
    folder: temporaryFolder(),
    load: () => ({
      documents: documents.range(0, repository),
      partition,
      onProgress: (loaded) => void reported.push(loaded),
    }),
  });
  await store.forPoint();
  assert.deepEqual(reported, []);
  assert.equal(store.serverPids, null, 'the emulator already ran');
});

test('an embedded store does not keep the partition that it was loaded from', async () => {
  const { store, partition } = await embedded();
  await using _ = store;
  await setImmediate(); // A WeakRef holds its target until the job ends that made it.
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  assert.equal(partition.deref(), undefined);
});

async function embedded(): Promise<{ store: RepositoryStore; partition: WeakRef<Partition> }> {
  const documents = createSyntheticDocuments({ repository: 100, documentBytes: 200, seed: 1 });
  const partition = clusterOneByOne(documents.range(0, 100));
  const load = () => ({ documents: documents.range(0, 100), partition });
  const options = { store: 'embedded', regionServers: 1, folder: temporaryFolder(), load };
  return { store: await openRepositoryStore(options), partition: new WeakRef(partition) };
}
