/**
 * The judges find every known mistake of the protocol when it is put back, each with the seed that
 * is known to find it. If one gets away after a change, another seed is found by
 * `./run.sh mutants --only <name> --seeds 5000 --update`.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { systemClock } from '../../../engine/base/index.ts';
import { huntAll, type Hunted } from './hunt.ts';
import { mutate } from './mutant.ts';
import { knownSeedsOf, MUTANTS, WITHOUT_MUTANT } from './mutants.ts';

describe('every mutant is caught', () => {
  const answers = new Map(MUTANTS.map(({ name }) => [name, Promise.withResolvers<Hunted>()]));

  /** One call hunts for all tests: threads are slow until their first hunts have warmed them. */
  before(() => {
    const onHunted = (_: number, hunted: Hunted): void => {
      answers.get(hunted.mutant.name)?.resolve(hunted);
    };
    huntAll(MUTANTS, { seedsOf: knownSeedsOf, jobs: 2, onHunted }).catch((error: unknown) => {
      for (const { promise, reject } of answers.values()) {
        promise.catch(() => undefined); // Its test may have been left out.
        reject(error);
      }
    });
  });

  for (const { name, mistake } of MUTANTS) {
    test(`${name}: ${mistake}`, async () => {
      const hunted = await answers.get(name)?.promise;
      assert.ok(hunted?.caught !== undefined, `${name} got away`);
    });
  }
});

test('after a hunt that cannot be made, no other hunt begins', async () => {
  const [mutant] = MUTANTS;
  assert.ok(mutant !== undefined);
  const unknown = { ...mutant, name: 'unknown' };
  const hunted: string[] = [];
  const onHunted = (_: number, one: Hunted): void => void hunted.push(one.mutant.name);
  const all = huntAll([unknown, ...MUTANTS], { seedsOf: () => [], jobs: 2, onHunted });
  await assert.rejects(all, /there is no mutant unknown/);
  const { length } = hunted;
  await systemClock.sleep(3_000);
  // The other thread may end the hunt that it had begun.
  assert.ok(hunted.length <= length + 1, hunted.join());
});

describe('the mutants', () => {
  test('cover every rule of protocol.md, apart from those excused with a reason', () => {
    const text = readFileSync(new URL('../../../engine/protocol.md', import.meta.url), 'utf8');
    const described = [...text.matchAll(/\*\*P(\d+)\.\*\*/g)].map(([, number]) => Number(number));
    const all = described.map((_, i) => i + 1);
    assert.deepEqual(
      described.toSorted((a, b) => a - b),
      all,
      'each number once, without gaps',
    );
    const covered = new Set<string>([
      ...MUTANTS.map(({ rule }) => rule),
      ...Object.keys(WITHOUT_MUTANT),
    ]);
    assert.deepEqual(covered, new Set(all.map((number) => `P${number}`)));
  });

  test('have unique names, and break no rule that is excused', () => {
    assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length);
    for (const { rule } of MUTANTS) assert.equal(WITHOUT_MUTANT[rule], undefined, rule);
  });

  test('fail with a message when the text that they change is no longer there', () => {
    const [mutant] = MUTANTS;
    assert.ok(mutant?.changes[0] !== undefined);
    const { file } = mutant.changes[0];
    assert.throws(() => mutate(mutant, file, 'another text'), /finds its text once/);
  });
});
