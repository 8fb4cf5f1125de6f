/** Mistakes in collecting garbage and in leases: P4, P30, P31, P59, P68 and P84. */
import { pinsAtRenewals } from '../simulation/loads.ts';
import { change, type Mutant } from './mutant.ts';
import type { Knobs } from './worlds.ts';

/** A copy of a prewrite arrives when its rollback record may have been collected. */
const LATE_COPIES: Partial<Knobs> = {
  messages: { replay: 0.2, pause: 0.02 },
  leaseTimeToLiveMs: 100,
  lockTimeToLiveMs: 50,
};

export const COLLECTING: readonly Mutant[] = [
  {
    rule: 'P4',
    name: 'markers-collected-at-once',
    mistake: 'The collector does not wait until earlier messages are gone.',
    changes: [
      change(
        'garbage-collection/cycle.ts',
        'this.#sleepUntil(sinceMs + this.#settings.messageLifetimeMs, signal)',
        'this.#sleepUntil(sinceMs, signal)',
      ),
    ],
    knobs: LATE_COPIES,
  },
  {
    rule: 'P4',
    name: 'wait-from-before-the-horizon',
    mistake: 'The collector waits since it began to move the horizon, not since it has moved.',
    changes: [
      change(
        'garbage-collection/cycle.ts',
        '    const moved = await moveHorizon(',
        '    const sinceMs = clock.monotonicMs();\n    const moved = await moveHorizon(',
      ),
      change('garbage-collection/cycle.ts', 'sinceMs: clock.monotonicMs() };', 'sinceMs };'),
    ],
    knobs: { ...LATE_COPIES, stopsAtWaits: true },
  },
  {
    rule: 'P84',
    name: 'no-fence',
    mistake: 'A collector that does not have to wait for messages does not have them ended either.',
    changes: [change('garbage-collection/cycle.ts', 'await store.fence();', 'void store;')],
    knobs: { ...LATE_COPIES, fences: true },
  },
  {
    rule: 'P84',
    name: 'fence-before-the-horizon',
    mistake: 'The collector sets the fence before it moves the horizon.',
    changes: [
      change('garbage-collection/cycle.ts', 'await store.fence();', 'void store;'),
      change(
        'garbage-collection/cycle.ts',
        '    const moved = await moveHorizon(',
        '    await this.#context.store.fence?.();\n    const moved = await moveHorizon(',
      ),
    ],
    knobs: { ...LATE_COPIES, fences: true },
  },
  {
    rule: 'P31',
    name: 'unread-record-taken-for-none',
    mistake:
      'Data to which only a record above the horizon points is erased if that record was not read.',
    changes: [
      change('garbage-collection/collect-row.ts', ' && !hidden.has(columnOf(data))', ''),
      change(
        'garbage-collection/collect-row.ts',
        'const VERSIONS_IN_BATCH = 8;',
        'const VERSIONS_IN_BATCH = 2;',
      ),
      change(
        'garbage-collection/collect-row.ts',
        '  if (hidden.size === 0) return false;\n',
        '  if (hidden.size < 10) return false;\n',
      ),
    ],
  },
  {
    rule: 'P30',
    name: 'collect-before-resolving',
    mistake: 'The collector does not resolve locks first.',
    changes: [
      change(
        'garbage-collection/cycle.ts',
        "phase: 'resolving', deletionHorizon,",
        "phase: 'collecting', deletionHorizon,",
      ),
    ],
  },
  {
    rule: 'P68',
    name: 'new-locks-passed-over',
    mistake: 'A cycle that goes on from another one passes over the locks that came since.',
    changes: [
      change(
        'garbage-collection/cycle.ts',
        'return [{ ...locks, from: after.collected }];',
        'return [{ ...locks, from: deletionHorizon }];',
      ),
    ],
  },
  {
    rule: 'P31',
    name: 'leases-ignored',
    mistake:
      'The collector ignores the leases, and deletes versions that covered readers still need.',
    changes: [
      change(
        'garbage-collection/horizon.ts',
        '  return leases.reduce((smallest, { bound }) => Math.min(smallest, bound), limit);',
        '  return leases.reduce((smallest) => smallest, limit);',
      ),
    ],
  },
  {
    rule: 'P31',
    name: 'uncovered-reads-not-validated',
    mistake: 'A reader without a valid lease does not check the horizon.',
    changes: [
      change(
        'transaction/snapshot-read.ts',
        '  return hold.isCovered() ? undefined : refuseBelowHorizon(context, startTimestamp);\n',
        '  void [context, startTimestamp, hold];\n  return undefined;\n',
      ),
    ],
  },
  {
    rule: 'P31',
    name: 'commits-not-validated',
    mistake: 'A transaction whose start timestamp is below the horizon still commits.',
    changes: [
      change(
        'transaction/commit.ts',
        '  refuseStale(startTimestamp, context.oracle.horizon);\n',
        '  void [refuseStale, startTimestamp];\n',
      ),
    ],
  },
  {
    rule: 'P31',
    name: 'horizon-not-persisted',
    mistake: 'The collector deletes below a horizon that it does not publish.',
    changes: [
      change(
        'garbage-collection/horizon.ts',
        'const horizon = await oracle.raiseHorizon(smallestBound(before, now));',
        'const horizon = smallestBound(before, now);',
      ),
    ],
  },
  {
    rule: 'P31',
    name: 'no-second-look-at-leases',
    mistake: 'A snapshot that was pinned while the horizon moved is overlooked.',
    changes: [
      change(
        'garbage-collection/horizon.ts',
        'const after = await watch.liveLeases();',
        'const after = [] as readonly Lease[];',
      ),
    ],
  },
  {
    rule: 'P31',
    name: 'lapsed-lease-still-counts',
    mistake: 'A process whose lease lapsed believes that it held the lease all the time.',
    changes: [
      change(
        'leases/leases.ts',
        '    if (!this.#isValid()) this.#epoch += 1;\n',
        '    if (this.#epoch === 0) this.#epoch += 1;\n',
      ),
    ],
  },
  {
    rule: 'P31',
    name: 'pin-between-bound-and-record',
    mistake:
      'An await separates finding the bound of a lease from recording it; a snapshot is pinned meanwhile.',
    changes: [
      change(
        'leases/leases.ts',
        'const bound = this.#smallestInUse(fresh);',
        'const bound = await Promise.resolve(this.#smallestInUse(fresh));',
      ),
    ],
    knobs: {
      collector: true,
      leaseTimeToLiveMs: 1_000,
      oracleProcesses: true,
      delayMsMax: 20,
    },
    load: pinsAtRenewals,
  },
  {
    rule: 'P59',
    name: 'lease-of-a-suspended-process',
    mistake: 'A process relies on its monotonic clock alone to judge its lease valid.',
    changes: [
      change(
        'leases/leases.ts',
        'isWithin(clock, ttlMs * COUNTED_ON, since)',
        'clock.monotonicMs() - since.monotonicMs < ttlMs * COUNTED_ON',
      ),
    ],
    knobs: { events: { suspend: 3 } },
  },
];
