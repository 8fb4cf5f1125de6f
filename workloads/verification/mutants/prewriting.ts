/** Mistakes in prewriting and rolling back: P1 to P8, without P4, which is in collecting.ts. */
import { change, type Mutant } from './mutant.ts';

/** Harmless on its own; it makes locks without a primary common. */
const SECONDARIES_FIRST = [
  change(
    'transaction/commit.ts',
    '[rows.slice(0, 1), rows.slice(1)]',
    '[rows.slice(1), rows.slice(0, 1)]',
  ),
];

export const PREWRITING: readonly Mutant[] = [
  {
    rule: 'P1',
    name: 'no-rollback-marker',
    mistake: 'Rolling back leaves no marker.',
    changes: [
      change('transaction/roll-back.ts', '    rollbackMarker(column, startTimestamp),\n', ''),
      change(
        'transaction/classify.ts',
        "  assert(marker !== undefined, 'above the horizon, a lock that is gone has left a trace');\n",
        '',
      ),
    ],
  },
  {
    rule: 'P1',
    name: 'prewrite-ignores-marker',
    mistake: 'A prewrite succeeds although its transaction was rolled back.',
    changes: [
      change(
        'transaction/prewrite.ts',
        '    { ...placeOf(ROLLBACK, column), from: startTimestamp, to: startTimestamp },\n',
        '',
      ),
    ],
    knobs: { messages: { duplicate: 0.1, replay: 0.2, pause: 0.02 }, lockTimeToLiveMs: 50 },
  },
  {
    rule: 'P2',
    name: 'absent-primary-is-rolled-back',
    mistake: 'Secondaries are locked first, and the absent primary of a dead owner gets no marker.',
    changes: [
      ...SECONDARIES_FIRST,
      change(
        'transaction/locks/resolve-lock.ts',
        "        if (!isOwnerDead(context, lock, askedMs)) return { kind: 'alive' };\n        if (await isGivenUp",
        "        if (isOwnerDead(context, lock)) return { kind: 'rolled back' };\n        else return { kind: 'alive' };\n        if (await isGivenUp",
      ),
    ],
  },
  {
    rule: 'P3',
    name: 'lock-told-by-address',
    mistake: "Any lock at the primary's address is taken for the transaction's own.",
    changes: [
      ...SECONDARIES_FIRST,
      change(
        'transaction/locks/resolve-lock.ts',
        '    { ...placeOf(LOCK, column), ...own },\n    { ...placeOf(ROLLBACK, column), ...own },',
        '    placeOf(LOCK, column),\n    { ...placeOf(ROLLBACK, column), ...own },',
      ),
      change(
        'transaction/locks/resolve-lock.ts',
        '        if (!isPrimary(seen.lock, lock.primary)) {',
        '        if (lock.startTimestamp < 0) {',
      ),
    ],
  },
  {
    rule: 'P5',
    name: 'markers-among-records',
    mistake: 'Rollback markers are in the write column.',
    changes: [
      change('transaction/columns.ts', "ROLLBACK: Kind = 'rollback'", "ROLLBACK: Kind = 'write'"),
      change(
        'transaction/write-record.ts',
        "const [operation, data, changed] = text.slice(WIDTH + 1).split(' ');",
        "const [operation = 'delete', data, changed] = (text || '0000000000000000 delete').slice(WIDTH + 1).split(' ');",
      ),
    ],
  },
  {
    rule: 'P6',
    name: 'foreign-marker-conflicts',
    mistake: 'The rollback marker of any later transaction is taken for a conflict.',
    changes: [
      change(
        'transaction/prewrite.ts',
        '{ ...placeOf(ROLLBACK, column), from: startTimestamp, to: startTimestamp }',
        '{ ...placeOf(ROLLBACK, column), from: startTimestamp }',
      ),
    ],
  },
  {
    rule: 'P7',
    name: 'roll-back-primary-only',
    mistake: 'After a conflict only the primary is rolled back, not everything that was sent.',
    changes: [
      change(
        'transaction/commit.ts',
        'sent = rows.slice(0, sent.length + next.length);',
        'sent = rows.slice(0, 1);',
      ),
    ],
  },
  {
    rule: 'P8',
    name: 'own-roll-back-without-marker',
    mistake: 'A transaction that rolls itself back leaves no marker.',
    changes: [
      change(
        'transaction/roll-back.ts',
        'const mutations = writes.flatMap(({ column }) => rollBackMutations(column, startTimestamp));',
        'const mutations = writes.flatMap(({ column }) => rollBackMutations(column, startTimestamp)).filter((one) => !one.qualifier.endsWith(ROLLBACK));',
      ),
    ],
  },
  {
    rule: 'P16',
    name: 'first-piece-alone',
    mistake: 'Of a row that is prewritten in pieces, only the first one is locked.',
    changes: [
      change(
        'transaction/prewrite.ts',
        '  return prewritePieces(context, pieces.slice(1), prewriting);\n',
        '  return [];\n',
      ),
    ],
    knobs: { checkBytesMax: 1 },
  },
];
