/**
 * The judges find every known mistake of the protocol when it is put back, each with the seed that
 * is known to find it. If one gets away after a change, another seed is found by
 * `./run.sh mutants --only <name> --seeds 5000 --update`.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { huntAll, type Mutant, MUTANTS, QUICKEST, WITHOUT_MUTANT } from './index.ts';
import { mutate } from './mutant.ts';

const MUTANTS_PER_TEST = 16;

describe('every mutant is caught', () => {
  for (let first = 0; first < MUTANTS.length; first += MUTANTS_PER_TEST) {
    const some = MUTANTS.slice(first, first + MUTANTS_PER_TEST);
    test(`from ${some[0]?.name} to ${some.at(-1)?.name}`, async () => {
      const seedsOf = ({ name }: Mutant): readonly number[] => [QUICKEST[name] ?? 1];
      const hunted = await huntAll(some, { seedsOf, jobs: 2 });
      const escaped = hunted.filter(({ caught }) => caught === undefined);
      assert.deepEqual(
        escaped.map(({ mutant }) => mutant.name),
        [],
      );
      assert.equal(hunted.length, some.length);
    });
  }
});

describe('the mutants', () => {
  test('cover every rule of protocol.md, apart from those excused with a reason', () => {
    const text = readFileSync(new URL('../../../engine/protocol.md', import.meta.url), 'utf8');
    const described = [...text.matchAll(/\*\*(P\d+)\.\*\*/g)].map(([, rule]) => rule);
    const covered = new Set<string>([
      ...MUTANTS.map(({ rule }) => rule),
      ...Object.keys(WITHOUT_MUTANT),
    ]);
    assert.deepEqual(
      described.filter((rule) => rule !== undefined && !covered.has(rule)),
      [],
    );
    for (let number = 1; number <= 51; number++) assert.ok(covered.has(`P${number}`), `P${number}`);
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
