/** Mutants of what a reader of changes must not miss (P87 to P89). */
import { change, type Mutant } from './mutant.ts';

/** Some of the rules need a collector that is fast. */
const COLLECTED = { collector: true, leaseTimeToLiveMs: 100 } as const;

export const FOLLOWING: readonly Mutant[] = [
  {
    rule: 'P87',
    name: 'live-locks-are-not-counted',
    mistake: 'A reader of changes takes what a live transaction has locked for unchanged.',
    changes: [
      change(
        'changes/look.ts',
        'this.#upTo = Math.max(this.#after.timestamp, Math.min(this.#upTo, startTimestamp));',
        '',
      ),
    ],
    follows: true,
  },
  {
    rule: 'P87',
    name: 'resolved-up-to-the-end-of-a-look',
    mistake: 'The resolved timestamp is asked for when the rows have been read.',
    changes: [
      change(
        'changes/changes.ts',
        'const sight = await look(this.#context, this.#scope, search);',
        `const seen = await look(this.#context, this.#scope, search);
    const sight = { ...seen, resolved: { timestamp: await oracle.next() } };`,
      ),
    ],
    follows: true,
  },
  {
    rule: 'P87',
    name: 'settled-row-not-read-again',
    mistake: 'A reader of changes rolls a lock forward, and overlooks the record.',
    changes: [
      change(
        'changes/look.ts',
        '  if (!isChanged) return row;\n',
        '  if (stored !== "") return row;\n',
      ),
    ],
    follows: true,
  },
  {
    rule: 'P88',
    name: 'locks-below-the-cursor-passed-over',
    mistake: 'A look passes over the locks of transactions that began before the cursor.',
    changes: [
      change(
        'changes/changes.ts',
        'this.#locksFrom = Math.min(horizon, sight.settledBelow);',
        'this.#locksFrom = sight.resolved.timestamp + Math.min(0, horizon);',
      ),
    ],
    follows: true,
  },
  {
    rule: 'P89',
    name: 'collected-changes-not-noticed',
    mistake: 'A reader of changes does not ask whether some of them have been collected.',
    changes: [
      change(
        'changes/changes.ts',
        '    await this.#refuseCollected();\n    if (this.#isWhole)',
        '    if (this.#isWhole)',
      ),
    ],
    knobs: COLLECTED,
    follows: true,
  },
  {
    rule: 'P89',
    name: 'cursor-without-cell',
    mistake: 'A cursor in the middle of a transaction goes on after all of it.',
    changes: [
      change(
        'changes/place.ts',
        'const cell = row === undefined || column === undefined ? [] : [row, column];',
        'const cell = row === undefined || column === undefined ? [] : [];',
      ),
    ],
    follows: true,
  },
  {
    rule: 'P89',
    name: 'cursor-before-cell',
    mistake: 'A cursor in the middle of a transaction goes on with all of it.',
    changes: [
      change(
        'changes/place.ts',
        'const { timestamp, row, column } = place;',
        'const { row, column } = place;\n  const timestamp = place.timestamp - Number(row !== undefined);',
      ),
    ],
    follows: true,
  },
];
