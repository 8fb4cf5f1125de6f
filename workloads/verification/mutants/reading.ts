/**
 * Mistakes in reading, resolving locks and judging whether owners are alive: P19 to P29, without
 * P26 (in committing.ts), P33, P79 and P80; and in batching and reading ahead (section 2.5), P11,
 * P19, P20, P31 and P40.
 */
import { change, type Mutant } from './mutant.ts';

const PLAIN_READ =
  '  const row = await context.store.readRow(target.table, target.row, filters);\n';

export const READING: readonly Mutant[] = [
  {
    rule: 'P19',
    name: 'reader-ignores-locks',
    mistake: 'A reader ignores locks.',
    changes: [
      change(
        'transaction/snapshot-read.ts',
        '  return row?.cells.filter((cell) => isOf(LOCK, cell)) ?? [];',
        '  return row?.cells.filter((cell) => isOf(LOCK, cell) && cell.timestamp < 0) ?? [];',
      ),
    ],
  },
  {
    rule: 'P19',
    name: 'writer-ignores-newer-locks',
    mistake: 'A prewrite checks only locks up to its start timestamp.',
    changes: [
      change(
        'transaction/prewrite.ts',
        '    { ...placeOf(LOCK, written) },\n',
        '    { ...placeOf(LOCK, written), to: startTimestamp },\n',
      ),
    ],
  },
  {
    rule: 'P20',
    name: 'lock-and-record-read-apart',
    mistake: 'Write records are read first, and locks afterwards.',
    changes: [
      change(
        'transaction/snapshot-read.ts',
        PLAIN_READ,
        '  const records = await context.store.readRow(target.table, target.row, filters.filter(({ qualifier }) => !qualifier.endsWith(LOCK)));\n  const lockRow = await context.store.readRow(target.table, target.row, filters.filter(({ qualifier }) => qualifier.endsWith(LOCK)));\n  const row = { key: target.row, cells: [...(lockRow?.cells ?? []), ...(records?.cells ?? [])] };\n',
      ),
    ],
  },
  {
    rule: 'P20',
    name: 'newest-data-version',
    mistake: 'A read returns the newest data, committed or not.',
    changes: [
      change(
        'transaction/snapshot-read.ts',
        'qualifier === own && timestamp === record.dataTimestamp,',
        'qualifier === own && timestamp > 0,',
      ),
    ],
  },
  {
    rule: 'P21',
    name: 'blind-writer-never-cleans-up',
    mistake:
      'A transaction that loses to a lock does not check whether the owner of the lock is dead.',
    changes: [
      change(
        'transaction/commit.ts',
        '    await quietly(resolveLock(context, cell, lock));\n',
        '    void [resolveLock, cell, lock];\n',
      ),
    ],
  },
  {
    rule: 'P22',
    name: 'prewrite-waits',
    mistake: 'A prewrite waits for locks while it holds its own.',
    changes: [
      change(
        'transaction/prewrite.ts',
        "    if (found.kind === 'ours') return undefined;\n",
        "    if (found.kind === 'ours') return undefined;\n    if (found.reason === 'locked') {\n      await context.clock.sleep(backoffMs(context, 1) + 1);\n      latest = await tryAgain(context, row, prewriting);\n      if (latest === false) return undefined;\n      attempt--;\n      continue;\n    }\n",
      ),
    ],
  },
  {
    rule: 'P23',
    name: 'no-backoff',
    mistake: 'A transaction that lost tries again at once.',
    changes: [
      change(
        'transaction/context.ts',
        '  return ceiling * random.fraction();',
        '  return ceiling * random.fraction() * 0;',
      ),
    ],
    // Only where nothing goes wrong do rivals meet in step (final-checks.ts).
    knobs: { messages: {}, groups: {}, events: {} },
  },
  {
    rule: 'P24',
    name: 'age-by-wall-clocks',
    mistake: "A lock's age is the difference between its writer's wall clock and the reader's.",
    changes: [
      change(
        'transaction/locks.ts',
        'return askedMs - sighting.sinceMs >= lock.timeToLiveMs;',
        'return sighting !== undefined && clock.wallMs() - lock.wallMs >= lock.timeToLiveMs;',
      ),
    ],
  },
  {
    rule: 'P24',
    name: 'slow-answer-taken-for-death',
    mistake:
      "A lock's age is counted until the read of it is answered, not until that read is sent.",
    changes: [
      change(
        'transaction/locks.ts',
        'return askedMs - sighting.sinceMs >= lock.timeToLiveMs;',
        'return clock.monotonicMs() - sighting.sinceMs >= lock.timeToLiveMs;',
      ),
    ],
  },
  {
    rule: 'P79',
    name: 'silence-counted-in-attempts',
    mistake: 'While nothing answers, a transaction is tried as often as after conflicts.',
    changes: [
      change(
        'transaction/transact.ts',
        '>= context.options.unansweredMsMax) throw error;',
        '>= Infinity) throw error;',
      ),
    ],
  },
  {
    rule: 'P80',
    name: 'dead-locks-in-turn',
    mistake: 'A scan looks at a lock only when it has waited for all those before it.',
    changes: [
      change(
        'transaction/scan.ts',
        'this.#looking ??= quietly(this.#lookBehind(row));',
        'void [quietly, this.#lookBehind, row];',
      ),
    ],
  },
  {
    rule: 'P25',
    name: 'no-heartbeat',
    mistake: 'Owners do not renew their locks.',
    changes: [change('transaction/locks.ts', 'if (!running) void beatAll();', 'void beatAll;')],
  },
  {
    rule: 'P25',
    name: 'heartbeat-begins-late',
    mistake: "The primary's lock beats only after the answer to its prewrite arrived.",
    changes: [
      change(
        'transaction/commit.ts',
        '  const stopHeartbeat = context.heartbeats.start(lockFor(context, primary, plan));\n',
        '  let stopHeartbeat = () => {};\n  plan.isLocked = () => { stopHeartbeat = context.heartbeats.start(lockFor(context, primary, plan)); };\n',
      ),
      change(
        'transaction/commit.ts',
        '      refuseConflicts(context, conflicts);\n',
        '      refuseConflicts(context, conflicts);\n      if (next[0] === rows[0]) plan.isLocked();\n',
      ),
    ],
  },
  {
    rule: 'P25',
    name: 'beats-in-the-lane',
    mistake: 'A beat waits in a lane of batches until a call of another caller is answered.',
    changes: [
      change(
        'transaction/context.ts',
        'createHeartbeats(unbatchedStore, clock)',
        'createHeartbeats(services.store, clock)',
      ),
    ],
    knobs: {
      messages: { slow: 0.05 },
      batching: { delayMs: 1, rowsMax: 8, inFlightMax: 1 },
    },
  },
  {
    rule: 'P27',
    name: 'check-then-act-clean-up',
    mistake:
      'A reader that finds the owner of a primary dead erases the lock without a second look.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
        '        await rollBackCell(context, lock.primary, lock.startTimestamp);\n        break;\n',
        "        await rollBackCell(context, lock.primary, lock.startTimestamp);\n        return { kind: 'rolled back' };\n",
      ),
    ],
  },
  {
    rule: 'P28',
    name: 'sight-of-lock-remembered',
    mistake: 'A process remembers that a lock was there, and acts on it later.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
        '    const seen = await lookAtPrimary(context, lock);\n',
        '    const known = SEEN.get(context) ?? new Map<number, Sight>();\n    SEEN.set(context, known);\n    const seen = known.get(lock.startTimestamp) ?? (await lookAtPrimary(context, lock));\n    known.set(lock.startTimestamp, seen);\n',
      ),
      change(
        'transaction/resolve-lock.ts',
        'type Sight =\n',
        'const SEEN = new WeakMap<Context, Map<number, Sight>>();\n\ntype Sight =\n',
      ),
    ],
  },
  {
    rule: 'P29',
    name: 'own-attempts-unknown',
    mistake: 'A process does not know its own dead attempts, and waits for them.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
        '  if (lock.owner === context.liveness.self) return !context.committing.has(lock.startTimestamp);\n',
        '',
      ),
    ],
  },
  {
    rule: 'P33',
    name: 'aborted-data-stays',
    mistake: 'Rolling back leaves the data.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
        '  if (!isOfEngine(column)) mutations.push({ ...own, ...placeOf(DATA, column) });\n',
        '  void [isOfEngine, DATA];\n',
      ),
    ],
  },
];

/**
 * Notifications are lost on the way, so the outcome depends on what their commit assumes about
 * them.
 */
const LOSING_MARKS = {
  messages: { loseRequest: 0.03, crashBefore: 0.004 },
  batching: { delayMs: 5, rowsMax: 256, inFlightMax: 8 },
} as const;

export const BATCHING: readonly Mutant[] = [
  {
    rule: 'P20',
    name: 'hidden-version-taken-for-none',
    mistake: 'A version for which a merged read had no room is taken for absent.',
    changes: [
      change(
        'bigtable/batching/kinds.ts',
        '    if (mayHide(found, filter)) return null;\n',
        '    void mayHide;\n',
      ),
    ],
  },
  {
    rule: 'P11',
    name: 'failed-batch-taken-for-done',
    mistake: 'The callers of a batch that applied in part hear that all of it was applied.',
    changes: [
      change(
        'bigtable/batching/kinds.ts',
        "      return requests.map(() => ({ status: 'rejected', reason: own }));\n",
        "      void own;\n      return requests.map(() => ({ status: 'fulfilled', value: undefined }));\n",
      ),
    ],
    knobs: LOSING_MARKS,
  },
  {
    rule: 'P11',
    name: 'lost-answer-in-batch-taken-for-yes',
    mistake: 'In a batch, a conditional mutation without an answer is taken for applied.',
    changes: [
      change(
        'bigtable/batching/kinds.ts',
        "  return { status: 'rejected', reason };\n}\n\nconst REFUSALS",
        "  return reason.message === '' ? { status: 'rejected', reason } : { status: 'fulfilled', value: false };\n}\n\nconst REFUSALS",
      ),
    ],
  },
  {
    rule: 'P40',
    name: 'lanes-said-to-keep-order',
    mistake:
      'Lanes overtake one another, and the notifications of a commit are sent as if they did not.',
    changes: [
      change(
        'bigtable/batching/batching.ts',
        '{ ...store.manifest, ordered: false, batches: true }',
        '{ ...store.manifest, ordered: true, batches: true }',
      ),
    ],
    knobs: LOSING_MARKS,
  },
  {
    rule: 'P31',
    name: 'kept-before-it-was-validated',
    mistake: 'The cells of a grouped read are kept, and then it is asked whether they are stale.',
    changes: [
      change(
        'transaction/reads.ts',
        '    await validateRead(this.#context, this.#held);\n    targets.forEach(',
        '    targets.forEach(',
      ),
      change(
        'transaction/reads.ts',
        '      this.#keep(target, one);\n    });\n',
        '      this.#keep(target, one);\n    });\n    await validateRead(this.#context, this.#held);\n',
      ),
    ],
  },
  {
    rule: 'P31',
    name: 'single-read-kept-before-it-was-validated',
    mistake: 'The cells of one row are kept, and then it is asked whether they are stale.',
    changes: [
      change(
        'transaction/reads.ts',
        '    const validating = validateRead(this.#context, this.#held);\n',
        '    this.#keep(target, seen);\n    const validating = validateRead(this.#context, this.#held);\n',
      ),
    ],
  },
  {
    rule: 'P20',
    name: 'grouped-by-what-was-asked-for',
    mistake: 'Rows are read in one call although what is read ahead of them differs.',
    changes: [
      change(
        'transaction/reads.ts',
        '    areEqual(a.columns, b.columns) &&\n    areEqual(a.alongside ?? [], b.alongside ?? [])\n',
        '    areEqual(a.columns, b.columns)\n',
      ),
    ],
  },
  {
    rule: 'P19',
    name: 'read-ahead-past-a-lock',
    mistake: 'A column that was read ahead is kept although it held a lock.',
    changes: [
      change(
        'transaction/reads.ts',
        'if (locked.has(column) || isElsewhere(read, column)) continue;',
        'if (isElsewhere(read, column)) continue;',
      ),
    ],
  },
  {
    rule: 'P20',
    name: 'read-ahead-for-the-next-transaction',
    mistake: 'Cells that one transaction read ahead are kept for later transactions.',
    changes: [
      change(
        'transaction/reads.ts',
        '    this.#kind = kind;\n',
        '    this.#kind = kind;\n    this.#rows = model.rows ??= this.#rows;\n',
      ),
      change('transaction/reads.ts', '    this.#rows.clear();\n', ''),
    ],
  },
];
