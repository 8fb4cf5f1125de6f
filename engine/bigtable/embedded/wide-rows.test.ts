/**
 * Claims about rows of many columns: the embedded store answers as the memory store does, whose
 * rows have no pages that could be empty, split or joined.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, type Random } from '../../base/index.ts';
import { createMemoryBigtable, temporaryFolder } from '../../testing/index.ts';
import type { Bigtable, CellFilter, Mutation } from '../bigtable.ts';
import { openEmbedded } from './index.ts';

const COLUMNS = 300;
const FAMILY = 'f';
const ROUNDS = 40;

const pick = <T>(random: Random, values: readonly T[]): T =>
  values[random.integer(0, values.length - 1)] as T;

/** Up to 400 mutations of one row, so that both ways of applying them are taken. */
function mutationsOf(random: Random): readonly Mutation[] {
  const first = random.integer(0, COLUMNS - 1);
  const count = pick(random, [1, 3, 64, 65, 400]);
  const erases = pick(random, [0, 0.3, 1]);
  return Array.from({ length: count }, (_, i): Mutation => {
    const column = random.fraction() < 0.5 ? (first + i) % COLUMNS : random.integer(0, COLUMNS - 1);
    const named = { family: FAMILY, qualifier: `c${column}` };
    const timestamp = random.integer(0, 5);
    if (random.fraction() < erases) {
      return { kind: 'erase', ...named, from: pick(random, [0, timestamp]), to: timestamp };
    }
    const value = Buffer.alloc(pick(random, [0, 40, 200, 600]), random.integer(0, 255));
    return { kind: 'set', ...named, timestamp, value };
  });
}

function filtersOf(random: Random): readonly CellFilter[] {
  const qualifier = `c${random.integer(0, COLUMNS - 1)}`;
  const some = { family: FAMILY, qualifier, from: random.integer(0, 5) };
  return pick(random, [[some], [{ family: FAMILY }], [{ family: FAMILY, versions: 1 }]]);
}

/** Applies the same to both; a check makes the pending row be read, too. */
async function compareOnce(stores: readonly Bigtable[], random: Random): Promise<void> {
  const [mutations, others] = [mutationsOf(random), mutationsOf(random)];
  const [anyOf, filters] = [filtersOf(random), filtersOf(random)];
  const row = pick(random, ['wide', 'other']);
  const answers = await Promise.all(
    stores.map(async (store) => {
      const mutated = store.mutateRows([{ table: 't', row, mutations }]);
      const found = store.checkAndMutateRow({ table: 't', row, anyOf, ifFound: others });
      await mutated;
      const read = await store.readRow('t', row, filters);
      return [
        await found,
        read?.cells.map((cell) => [
          cell.qualifier,
          cell.timestamp,
          Buffer.from(cell.value).toString('hex'),
        ]),
      ];
    }),
  );
  assert.deepEqual(answers[0], answers[1]);
}

for (const seed of [1, 2, 3, 4]) {
  test(`a row of many columns is the same as in the memory store, seed ${seed}`, async () => {
    const random = createRandom(seed);
    const folder = temporaryFolder();
    await using memory = createMemoryBigtable();
    let embedded = await openEmbedded({ folder, fsync: false });
    await Promise.all(
      [memory, embedded].map((store) => store.createTable('t', { families: [FAMILY] })),
    );
    for (let round = 0; round < ROUNDS; round++) {
      await compareOnce([embedded, memory], random);
      if (random.fraction() > 0.1) continue;
      await embedded.close();
      embedded = await openEmbedded({ folder, fsync: false });
    }
    await embedded.close();
  });
}
