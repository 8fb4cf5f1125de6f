/** Counterexamples of the search, as links to the explorer. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readLink } from '../explorer/page/link.ts';
import * as sound from '../explorer/engine.ts';
import type { ExplorerEngine } from '../explorer/search.ts';
import { importWith } from '../mutants/hunt.ts';
import { MUTANTS } from '../mutants/mutants.ts';
import type { ExhaustOptions, exhaust } from './exhaust.ts';
import type { linkTo } from './link.ts';
import { SCENARIOS } from './scenarios.ts';

const ALL_DEAD = { suspicion: 'all' } as const;
const CRASHED = { suspicion: 'crashed' } as const;

describe('a counterexample is convicted in the explorer, too', () => {
  const mistakes: readonly (readonly [string, string, ExhaustOptions])[] = [
    ['no-rollback-marker', 'one-cell', { ...ALL_DEAD, copies: 1 }],
    ['prewrite-ignores-marker', 'one-cell', { ...ALL_DEAD, copies: 1 }],
    ['no-write-check', 'one-cell', ALL_DEAD],
    ['writer-ignores-newer-locks', 'one-cell', ALL_DEAD],
    ['reader-ignores-locks', 'one-cell', ALL_DEAD],
    ['commit-without-lock', 'one-cell', ALL_DEAD],
    ['lock-and-record-read-apart', 'one-cell', ALL_DEAD],
    ['commit-timestamp-too-early', 'one-cell', ALL_DEAD],
    ['roll-back-primary-only', 'three-and-one', CRASHED],
    ['delete-erases', 'delete', ALL_DEAD],
    ['aborted-data-stays', 'one-cell', ALL_DEAD],
    ['check-then-act-clean-up', 'two-resolvers', ALL_DEAD],
    ['primary-without-table', 'two-tables', ALL_DEAD],
    ['blind-erase', 'touch', ALL_DEAD],
    ['echo-taken-for-conflict', 'one-cell', { ...CRASHED, lostAnswers: 1 }],
    ['clean-up-after-lost-answer', 'one-cell', { ...CRASHED, lostAnswers: 1 }],
  ];
  for (const [name, searched, options] of mistakes) {
    test(`${name} in ${searched}`, async () => {
      const { link, claims, engine } = await bridged(name, searched, options);
      const shown = readLink(link ?? '');
      assert.ok(shown?.kind === 'scenario', link);
      const scenario = engine.SCENARIOS.find((one) => one.name === shown.name);
      assert.ok(scenario !== undefined, shown.name);
      const violations = await engine.verdictOf(scenario, engine.readChoices(shown.choices));
      const found = violations.map(({ claim }) => claim);
      assert.ok(
        claims.some((claim) => found.includes(claim)),
        found.join(),
      );
      const calm = await sound.verdictOf(scenario, engine.readChoices(shown.choices));
      assert.deepEqual(calm, [], 'the engine as it is passes the same choices');
    });
  }

  test('except where a later run of the observer makes up for what is missing', async () => {
    const dying = { ...CRASHED, crashes: 1 };
    const { link, claims } = await bridged('notify-after-commit', 'observed', dying);
    assert.deepEqual([link, claims], [undefined, ['notifications: lost']]);
  });
});

/** What the search finds in an engine with the mistake, and its link. */
async function bridged(
  name: string,
  searched: string,
  options: ExhaustOptions,
): Promise<{
  readonly link: string | undefined;
  readonly claims: readonly string[];
  readonly engine: ExplorerEngine;
}> {
  const mutant = MUTANTS.find((one) => one.name === name);
  const scenario = SCENARIOS.find((one) => one.name === searched);
  assert.ok(mutant !== undefined && scenario !== undefined);
  const load = <T>(file: string): Promise<T> => importWith(mutant, new URL(file, import.meta.url));
  const search = await load<{ exhaust: typeof exhaust }>('./exhaust.ts');
  const { failure } = await search.exhaust(scenario, options);
  assert.ok(failure !== undefined, 'the search finds it');
  const bridge = await load<{ linkTo: typeof linkTo }>('./link.ts');
  return {
    link: await bridge.linkTo(scenario, options, failure.choices),
    claims: failure.violations.map(({ claim }) => claim),
    engine: await load<ExplorerEngine>('../explorer/engine.ts'),
  };
}
