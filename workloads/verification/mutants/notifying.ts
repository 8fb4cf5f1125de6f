/** Mistakes in notifications and observers: P40 to P50 (without P46), P56, P57, P63, P83 to P72. */
import { change, type Mutant } from './mutant.ts';

export const NOTIFYING: readonly Mutant[] = [
  {
    rule: 'P40',
    name: 'notify-after-commit',
    mistake: 'Notifications are written after the commit point.',
    changes: [
      change(
        'transaction/commit.ts',
        "      await (mayFollow\n        ? send(context, notifications)\n        : during(trace?.step('notify'), notify(context, notifications)));\n",
        '',
      ),
      change(
        'transaction/commit.ts',
        '    finish(context, plan, committedAt);\n',
        '    finish(context, plan, committedAt);\n    if (prewritten.notifications.length > 0) await notify(context, prewritten.notifications).catch(() => {});\n',
      ),
    ],
  },
  {
    rule: 'P41',
    name: 'notify-at-start-timestamp',
    mistake: "A notification is stored at the writer's start timestamp.",
    changes: [
      change(
        'transaction/commit.ts',
        'const notifications = notificationMutations(strong, weak, { commitTimestamp, cause, silent });',
        'const notifications = notificationMutations(strong, weak, { commitTimestamp: startTimestamp, cause, silent });',
      ),
    ],
  },
  {
    rule: 'P41',
    name: 'clear-all-notifications',
    mistake: 'A run also clears the notifications of changes that it has not seen.',
    changes: [
      change(
        'observer/run-observer.ts',
        'from: 0, to: startTimestamp } as const;',
        'from: 0, to: startTimestamp + 1_000_000_000 } as const;',
      ),
    ],
  },
  {
    rule: 'P41',
    name: 'weak-mark-cleared-up-to-the-commit',
    mistake: "A run for a weak notification clears what was notified until the run's commit.",
    changes: [
      change(
        'observer/run-observer.ts',
        'seenUpTo = Math.min(seenUpTo, startTimestamp);',
        'seenUpTo = Math.min(seenUpTo, (cell.weak ? commitTimestamp : undefined) ?? startTimestamp);',
      ),
    ],
  },
  {
    rule: 'P83',
    name: 'cause-not-handed-on',
    mistake: 'What a run notifies does not say that the run has caused it.',
    changes: [
      change(
        'observer/run-observer.ts',
        '  transaction.causedBy(causeAfter(cell.cause, cell));\n',
        '  void causeAfter;\n',
      ),
    ],
    knobs: { mischief: 'loop' },
  },
  {
    rule: 'P82',
    name: 'no-place-of-its-own',
    mistake: 'Runs of one column may take all places.',
    changes: [change('observer/queue.ts', ' || next?.running === 0;', ';')],
    knobs: { mischief: 'hang' },
  },
  {
    rule: 'P82',
    name: 'scan-waits-for-hanging-runs',
    mistake: 'A scan waits until there is room for the column that it has found most of.',
    changes: [change('observer/runs.ts', 'observers.size > 1 ?', 'observers.size < 1 ?')],
    knobs: { mischief: 'hang' },
  },
  {
    rule: 'P72',
    name: 'observers-not-said',
    mistake: 'A process does not say which observers its workers have.',
    changes: [
      change(
        'leases/leases.ts',
        'const says = this.#says.size === 0 ? undefined : this.said;',
        'const says = this.#says.size >= 0 ? undefined : this.said;',
      ),
    ],
    knobs: { mischief: 'differ' },
  },
  {
    rule: 'P72',
    name: 'said-once-is-said-for-ever',
    mistake: 'A process goes on saying which observers a worker has that was stopped.',
    changes: [change('observer/worker.ts', '    this.#peers.stop();\n', '')],
    knobs: { mischief: 'differ' },
  },
  {
    rule: 'P42',
    name: 'acknowledgment-by-commit-timestamp',
    mistake: "A change is compared with the last run's commit timestamp.",
    changes: [
      change(
        'observer/run-observer.ts',
        'record.changedTimestamp <= (lastRun?.record.startTimestamp ?? 0)',
        'record.changedTimestamp <= (lastRun?.record.commitTimestamp ?? 0)',
      ),
    ],
  },
  {
    rule: 'P42',
    name: 'no-acknowledgment',
    mistake: 'Runs do not acknowledge, so two can commit for one change.',
    changes: [
      change(
        'observer/run-observer.ts',
        '    transaction.acknowledge(observer.name, cell);\n',
        '    void observer.name;\n',
      ),
    ],
  },
  {
    rule: 'P42',
    name: 'named-delete-collected',
    mistake: 'A delete that a touch names is collected before its observers have seen it.',
    changes: [
      change(
        'garbage-collection/collect-row.ts',
        'const isNamed = staysNotified.has(column) && deletes.has(record.commitTimestamp);',
        'const isNamed = staysNotified.size < 0 && deletes.size < 0;',
      ),
    ],
  },
  {
    rule: 'P63',
    name: 'tombstone-over-the-next-parking',
    mistake:
      'A replay erases the entry of a parked cell up to the timestamp of its new notification.',
    changes: [change('observer/failures.ts', 'to: timestamp - 1 }', 'to: timestamp }')],
    knobs: { tombstones: true, failuresMax: 1 },
  },
  {
    rule: 'P43',
    name: 'weak-notification-before-locks',
    mistake: "A weak notification is written before its transaction's locks.",
    changes: [
      change(
        'transaction/commit.ts',
        '    for (const next of',
        '    if (weak.length > 0) await notify(context, notificationMutations([], weak, { commitTimestamp: await context.oracle.next(), cause }));\n    for (const next of',
      ),
      change(
        'transaction/commit.ts',
        'const notifications = notificationMutations(strong, weak, { commitTimestamp, cause, silent });',
        'const notifications = notificationMutations(strong, [], { commitTimestamp, cause, silent });',
      ),
      change(
        'transaction/commit.ts',
        'if (prewritten.notifications.length > 0) tellWorkers(context, prewritten);',
        'if (prewritten.notifications.length > 0) tellWorkers(context, { ...prewritten, weak: [] });',
      ),
    ],
  },
  {
    rule: 'P44',
    name: 'nothing-to-do-clears-nothing',
    mistake: 'A run that finds nothing to do does not clear its notification.',
    changes: [
      change(
        'observer/run-observer.ts',
        'if (observers.length > 0) await clearNotification',
        'if (runs.length > 0) await clearNotification',
      ),
    ],
  },
  {
    rule: 'P45',
    name: 'failures-without-rest',
    mistake: 'An observer that has failed runs again at once.',
    changes: [
      change(
        'observer/failures.ts',
        'return failing !== undefined && failing.untilMs > this.#clock.monotonicMs();',
        'return failing !== undefined && failing.untilMs < 0;',
      ),
    ],
  },
  {
    rule: 'P47',
    name: 'pooled-start-timestamp',
    mistake: 'A run takes its start timestamp before its notification is seen.',
    changes: [
      change(
        'observer/run-observer.ts',
        '    const transaction = await begin(context, { kind }, { trace, isRetry: attempt > 1 });\n',
        '    const transaction = POOL.get(context) ?? (await begin(context));\n    POOL.set(context, await begin(context));\n',
      ),
      change(
        'observer/run-observer.ts',
        'async function runObserver(',
        'const POOL = new WeakMap<Context, Transaction>();\n\nasync function runObserver(',
      ),
    ],
  },
  {
    rule: 'P48',
    name: 'running-cells-forgotten',
    mistake: 'A scan finds a cell whose observer is running, and runs the observer again.',
    changes: [
      change(
        'observer/runs.ts',
        '    if (this.#running.has(name)) {\n',
        '    if (this.#running.has(name) && name.length < 0) {\n',
      ),
    ],
  },
  {
    rule: 'P49',
    name: 'scan-lock-never-ends',
    mistake: 'The lock of a scanner that died, or whose release was lost, stays forever.',
    changes: [
      change(
        'lock-service/range-locks.ts',
        'if (untilMs > nowMs) return;',
        'if (untilMs + nowMs > 0) return;',
      ),
    ],
  },
  {
    rule: 'P50',
    name: 'stop-does-not-wait',
    mistake: 'A worker reports that it has stopped while runs are still in flight.',
    changes: [change('observer/worker.ts', '      await this.#runs.ended();\n', '')],
  },
  {
    rule: 'P50',
    name: 'idle-after-one-glance',
    mistake: 'A worker reports that it is idle before it has scanned.',
    changes: [
      change('observer/scans.ts', 'const enough = this.#empty + 2;', 'const enough = this.#empty;'),
    ],
  },
  {
    rule: 'P57',
    name: 'second-observed-cell-unmarked',
    mistake: 'A transaction that changes several observed cells notifies only the first of them.',
    changes: [
      change(
        'transaction/notifications.ts',
        'if (isObserved) observed.push(',
        'if (isObserved && observed.length === 0) observed.push(',
      ),
    ],
  },
  {
    rule: 'P56',
    name: 'dropped-table-ends-the-worker',
    mistake: 'Dropping a table ends the observation of all others.',
    changes: [
      change(
        'observer/scans.ts',
        '      if (isFinal(error)) throw error;\n',
        '      if (isFinal(error) || isTableNotFound(error)) throw error;\n',
      ),
    ],
  },
  {
    rule: 'P56',
    name: 'trouble-of-a-table-ends-the-worker',
    mistake: 'One table that cannot be scanned ends the scanning of all.',
    changes: [
      change(
        'observer/scans.ts',
        '      if (isFinal(error)) throw error;\n',
        "      if (table !== '') throw error;\n",
      ),
    ],
  },
];
