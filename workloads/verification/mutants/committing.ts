/**
 * Mistakes in the two phases of a commit: in prewriting and rolling back, P1 to P8 (P4 is in
 * collecting.ts); in committing, P9 to P18 (P13 has no mutant), P26, P60, P61 and P81.
 */
import { deletionsDuringStops, writersWhoseDatabasesClose } from '../simulation/loads.ts';
import { change, type Mutant } from './mutant.ts';

/** Harmless on its own; it makes locks without a primary common. */
const SECONDARIES_FIRST = [
  change(
    'transaction/commit.ts',
    'inTwo ? [rows.slice(0, 1), rows.slice(1)] : [rows]',
    '[rows.slice(1), rows.slice(0, 1)]',
  ),
];

export const PREWRITING: readonly Mutant[] = [
  {
    rule: 'P1',
    name: 'no-rollback-marker',
    mistake: 'Rolling back leaves no rollback record.',
    changes: [
      change('transaction/resolve-lock.ts', '    rollbackRecord(column, startTimestamp),\n', ''),
      change(
        'transaction/prewrite.ts',
        "  assert(rollback !== undefined, 'above the horizon, a lock that is gone has left a trace');\n",
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
    mistake:
      'Secondaries are locked first, and the absent primary of a dead owner gets no rollback record.',
    changes: [
      ...SECONDARIES_FIRST,
      change(
        'transaction/resolve-lock.ts',
        "        if (!isOwnerDead(context, lock, askedMs)) return { kind: 'alive' };\n        if (isBelow",
        "        if (isOwnerDead(context, lock)) return { kind: 'rolled back' };\n        else return { kind: 'alive' };\n        if (isBelow",
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
        'transaction/resolve-lock.ts',
        '    { ...placeOf(LOCK, column), ...own },\n    { ...placeOf(ROLLBACK, column), ...own },',
        '    placeOf(LOCK, column),\n    { ...placeOf(ROLLBACK, column), ...own },',
      ),
      change(
        'transaction/resolve-lock.ts',
        '        if (!isPrimary(seen.lock, lock.primary)) {',
        '        if (lock.startTimestamp < 0) {',
      ),
    ],
  },
  {
    rule: 'P5',
    name: 'markers-among-records',
    mistake: 'Rollback records are in the write column.',
    changes: [
      change(
        'transaction/columns.ts',
        "ROLLBACK: CellKind = 'rollback'",
        "ROLLBACK: Kind = 'write'",
      ),
      change(
        'transaction/columns.ts',
        "const [operation, data, changed] = text.slice(WIDTH + 1).split(' ');",
        "const [operation = 'delete', data, changed] = (text || '0000000000000000 delete').slice(WIDTH + 1).split(' ');",
      ),
    ],
  },
  {
    rule: 'P6',
    name: 'foreign-marker-conflicts',
    mistake: 'The rollback record of any later transaction is taken for a conflict.',
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
    mistake: 'A transaction that rolls itself back leaves no rollback record.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
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
        'prewritePieces(context, pieces, prewriting)',
        'prewritePieces(context, pieces.slice(0, 1), prewriting)',
      ),
    ],
    knobs: { checkBytesMax: 1 },
  },
];

export const COMMITTING: readonly Mutant[] = [
  {
    rule: 'P81',
    name: 'close-cuts-commits-off',
    mistake: 'A database that is closed does not wait for its commits in flight.',
    changes: [
      change(
        'database.ts',
        '      () => this.#inTime(this.#committed()),\n',
        '      () => void this.#committed,\n',
      ),
    ],
    load: writersWhoseDatabasesClose,
    knobs: { events: { reopen: 5 } },
  },
  {
    rule: 'P81',
    name: 'commits-begin-while-closing',
    mistake: 'A database that is being closed begins commits, and cuts them off.',
    changes: [change('transaction/commit.ts', '    context.closing.refuseNew();\n', '')],
    load: writersWhoseDatabasesClose,
    knobs: { events: { reopen: 5 } },
  },
  {
    rule: 'P81',
    name: 'closed-goes-on',
    mistake: 'A database that was closed goes on with its store after an answer that comes late.',
    changes: [
      change(
        'database.ts',
        'storeUntilClosed(telemetry?.storeOf(unmeasured) ?? unmeasured, closing)',
        'telemetry?.storeOf(unmeasured) ?? unmeasured',
      ),
    ],
    knobs: { events: { close: 5, reopen: 5 } },
  },
  {
    rule: 'P76',
    name: 'callers-bytes-kept',
    mistake: 'A transaction keeps the bytes of its caller, which uses them again.',
    changes: [change('bigtable/validate.ts', '    return copyOf(value);\n', '    return value;\n')],
  },
  {
    rule: 'P9',
    name: 'blind-erase',
    mistake: 'The second phase is unconditional, and erases any lock, not only its own.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
        '  await context.store.checkAndMutateRows(conditionals);\n',
        '  await context.store.mutateRows(\n    conditionals.map(({ table, row, ifFound = [] }) => ({ table, row, mutations: ifFound })),\n  );\n',
      ),
      change(
        'transaction/resolve-lock.ts',
        "{ kind: 'erase', ...placeOf(LOCK, column), from: startTimestamp, to: startTimestamp }",
        "{ kind: 'erase', ...placeOf(LOCK, column), from: 0, to: Number.MAX_SAFE_INTEGER }",
      ),
    ],
  },
  {
    rule: 'P9',
    name: 'blind-second-phase',
    mistake: 'The second phase does not check whether its lock is still there.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
        '  await context.store.checkAndMutateRows(conditionals);\n',
        '  await context.store.mutateRows(\n    conditionals.map(({ table, row, ifFound = [] }) => ({ table, row, mutations: ifFound })),\n  );\n',
      ),
    ],
    knobs: {
      collector: true,
      messages: { stall: 0.01 },
      leaseTimeToLiveMs: 300,
      lockTimeToLiveMs: 50,
    },
    load: deletionsDuringStops,
  },
  {
    rule: 'P10',
    name: 'commit-timestamp-too-early',
    mistake: 'The commit timestamp is requested before the locks are held.',
    changes: [
      change(
        'transaction/commit.ts',
        '    for (const next of',
        '    const early = nextTimestamp(context, startTimestamp);\n    early.catch(() => {});\n    for (const next of',
      ),
      change(
        'transaction/commit.ts',
        'const commitTimestamp = await during(asking, nextTimestamp(context, startTimestamp));',
        'const commitTimestamp = await early;',
      ),
    ],
  },
  {
    rule: 'P10',
    name: 'cached-commit-timestamp',
    mistake: 'The oracle client keeps spare timestamps for later callers.',
    changes: [
      change(
        'oracle/batching.ts',
        'const allocation = await source.allocate(callers.length);',
        'const allocation = await source.allocate(callers.length + 4);\n      spares.length = 0;\n      for (let i = 0; i < 4; i++) spares.push(allocation.first + callers.length + i);',
      ),
      change(
        'oracle/batching.ts',
        '  let asking = false;\n',
        '  let asking = false;\n  const spares: Timestamp[] = [];\n',
      ),
      change(
        'oracle/batching.ts',
        '        waiting.push({ resolve, reject });\n',
        '        const spare = spares.shift();\n        if (spare !== undefined) return resolve(spare);\n        waiting.push({ resolve, reject });\n',
      ),
      change('oracle/batching.ts', "assert(first > largest, 'the oracle only moves forward');", ''),
    ],
  },
  {
    rule: 'P11',
    name: 'lost-answer-is-failure',
    mistake: 'A commit that got no answer is reported as failed.',
    changes: [
      change(
        'transaction/commit.ts',
        '  context.counters.unknown++;\n',
        '  throw rolledBack(context, primary);\n',
      ),
    ],
  },
  {
    rule: 'P11',
    name: 'clean-up-after-lost-answer',
    mistake: 'A commit that got no answer is cleaned up.',
    changes: [
      change(
        'transaction/commit.ts',
        '    else if (isSent) told.isInDoubt = true;\n',
        '    else if (isSent) {\n      await rollBackOwn(context, prewritten.rows.slice(0, 1), prewritten.startTimestamp);\n      throw rolledBack(context, prewritten.primary);\n    }\n',
      ),
    ],
  },
  {
    rule: 'P11',
    name: 'refused-commit-rolled-back-blindly',
    mistake:
      'A commit that was refused each time is rolled back, although a copy has committed it.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
        '  return context.store.checkAndMutateRow({ table, row, anyOf: [own], ifFound, essential: true });\n',
        '  void own;\n  await context.store.mutateRows([{ table, row, mutations: ifFound }]);\n  return true;\n',
      ),
    ],
    knobs: {
      messages: { duplicate: 0.1, replay: 0.3 },
      events: { tabletUnavailable: 4 },
      ordered: false,
    },
  },
  {
    rule: 'P12',
    name: 'echo-taken-for-conflict',
    mistake: 'A commit that is sent again and finds no lock concludes that it was rolled back.',
    changes: [
      change(
        'transaction/commit.ts',
        "    if (seen?.kind === 'committed') return seen.record.commitTimestamp;\n",
        "    if (seen?.kind === 'committed') throw rolledBack(context, primary);\n",
      ),
    ],
  },
  {
    rule: 'P14',
    name: 'no-write-check',
    mistake: 'A prewrite does not check for write records after its start timestamp.',
    changes: [
      change(
        'transaction/prewrite.ts',
        '    { ...placeOf(WRITE, written), from: startTimestamp },\n',
        '',
      ),
    ],
  },
  {
    rule: 'P15',
    name: 'primary-without-table',
    mistake: 'The primary is looked up in the table of the lock that names it.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
        'const outcome = await settleTransaction(context, lock);',
        'const outcome = await settleTransaction(context, { ...lock, primary: { ...lock.primary, table: cell.table } });',
      ),
    ],
  },
  {
    rule: 'P16',
    name: 'row-of-primary-left-locked',
    mistake:
      'In the row of the primary only the primary is committed; the other cells keep their locks.',
    changes: [
      change(
        'transaction/commit.ts',
        '  const ifFound = writes.flatMap((write) =>\n    commitMutations(write, startTimestamp, commitTimestamp),\n  );\n',
        '  const ifFound = writes.slice(0, 1).flatMap((write) =>\n    commitMutations(write, startTimestamp, commitTimestamp),\n  );\n',
      ),
    ],
  },
  {
    rule: 'P17',
    name: 'delete-erases',
    mistake: 'A delete erases the versions instead of writing a record.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
        '  const value = encodeWriteRecord(startTimestamp, operation, touched);\n  return [\n',
        "  const value = encodeWriteRecord(startTimestamp, operation, touched);\n  if (operation === 'delete') {\n    return [\n      { kind: 'erase', ...placeOf(WRITE, column), from: 0, to: commitTimestamp },\n      { kind: 'erase', ...placeOf(LOCK, column), from: startTimestamp, to: startTimestamp },\n    ];\n  }\n  return [\n",
      ),
    ],
  },
  {
    rule: 'P17',
    name: 'tombstone-collected-first',
    mistake: 'The collector erases the record of a delete while an older version is still there.',
    changes: [
      change(
        'garbage-collection/collect-row.ts',
        '    for (const record of older) {\n',
        '    for (const record of goes ? [] : older) {\n',
      ),
    ],
  },
  {
    rule: 'P18',
    name: 'retry-without-reading',
    mistake: 'After a conflict the same writes are committed again, from a new start timestamp.',
    changes: [
      change(
        'transaction/transaction.ts',
        '      return commit(this.#context, {\n        ...this.#held,\n        rows: this.#writes.byRow(),\n        weak: this.#weak,\n        cause: this.#cause,\n        isRetry: this.#isRetry,\n        trace: this.#trace,\n      });\n',
        "      const request = { ...this.#held, rows: this.#writes.byRow(), weak: this.#weak, cause: this.#cause, isRetry: true };\n      try {\n        return await commit(this.#context, request);\n      } catch (error) {\n        if (!(error instanceof PercolatorError) || error.code !== 'WRITE_CONFLICT') throw error;\n        return commit(this.#context, { ...request, startTimestamp: await this.#context.oracle.next() });\n      }\n",
      ),
    ],
  },
  {
    rule: 'P26',
    name: 'commit-without-lock',
    mistake: 'The primary is committed without a check that its lock is still there.',
    changes: [
      change(
        'transaction/commit.ts',
        '    return await context.store.checkAndMutateRow(commitMessage(prewritten));\n',
        '    const { table, row, ifFound = [] } = commitMessage(prewritten);\n    await context.store.mutateRows([{ table, row, mutations: ifFound }]);\n    return true;\n',
      ),
    ],
  },
  {
    rule: 'P61',
    name: 'marks-sent-once',
    mistake:
      'A commit that is sent again, because its group was lost, is sent without its notifications.',
    changes: [
      change(
        'transaction/commit.ts',
        '    if (attempt > 1 && unanswered.length > 0) await context.store.mutateRows(unanswered);\n',
        '',
      ),
    ],
    knobs: { ordered: true, batching: undefined, groups: { refuseGroup: 0.02 } },
  },
  {
    rule: 'P60',
    name: 'cells-joined-by-a-separator',
    mistake: 'Two cells of a transaction count as one if their names joined with NUL are equal.',
    changes: [
      change(
        'transaction/columns.ts',
        'return `${row.length}:${table.length}:${row}${table}${column}`;',
        'return `${table}\\0${row}\\0${column}`;',
      ),
    ],
    knobs: { names: 'awkward' },
  },
  {
    rule: 'P60',
    name: 'acknowledgments-joined-by-a-colon',
    mistake:
      'Observer `a` of column `x:y` and observer `a:x` of column `y` share an acknowledgment.',
    changes: [
      change(
        'transaction/columns.ts',
        'observer.replaceAll(/[%:]/g, encodeURIComponent)',
        'observer',
      ),
    ],
    knobs: { names: 'awkward' },
  },
];
