/** Mutants of what those that share a lock, and writers, must see of one another (P90, P91). */
import { sharedLocks, sharedLocksCollected } from '../simulation/loads.ts';
import { change, type Mutant } from './mutant.ts';

export const SHARING: readonly Mutant[] = [
  {
    rule: 'P90',
    name: 'writer-passes-over-shared-locks',
    mistake: 'A writer does not look for shared locks.',
    changes: [change('transaction/prewrite.ts', ', { ...placeOf(LOCK, shared) }]', ']')],
    load: sharedLocks,
  },
  {
    rule: 'P90',
    name: 'shared-record-is-no-conflict',
    mistake: 'A writer does not look for shared locks that have been committed since its start.',
    changes: [
      change(
        'transaction/prewrite.ts',
        '[{ ...placeOf(WRITE, shared), from: startTimestamp }, ',
        '[',
      ),
    ],
    load: sharedLocks,
  },
  {
    rule: 'P90',
    name: 'shared-records-collected-early',
    mistake: 'The collector erases records of shared locks that live writers began before.',
    changes: [
      change(
        'garbage-collection/collect-row.ts',
        '    .filter(({ timestamp }) => timestamp <= deletionHorizon)\n    .map((record)',
        '    .map((record)',
      ),
    ],
    load: sharedLocksCollected,
    knobs: { collector: true, leaseTimeToLiveMs: 100 },
  },
  {
    rule: 'P91',
    name: 'shared-lock-with-a-writers',
    mistake: 'A shared lock is set while a writer holds its lock.',
    changes: [
      change(
        'transaction/prewrite.ts',
        '    { ...placeOf(LOCK, written) },\n    { ...placeOf(ROLLBACK',
        '    ...(isSharedLock(column) ? [] : [{ ...placeOf(LOCK, written) }]),\n    { ...placeOf(ROLLBACK',
      ),
    ],
    load: sharedLocks,
  },
  {
    rule: 'P91',
    name: 'shared-lock-over-a-newer-write',
    mistake: 'A shared lock is set although the cell has been written since.',
    changes: [
      change(
        'transaction/prewrite.ts',
        '    { ...placeOf(WRITE, written), from: startTimestamp },\n',
        '    ...(isSharedLock(column) ? [] : [{ ...placeOf(WRITE, written), from: startTimestamp }]),\n',
      ),
    ],
    load: sharedLocks,
  },
  {
    rule: 'P14',
    name: 'late-shared-lock',
    mistake: 'An old copy of the prewrite of a shared lock locks again after the commit.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
        '    ...(isSharedLock(column) ? [rollbackRecord(column, startTimestamp)] : []),\n',
        '',
      ),
      change('transaction/resolve-lock.ts', '  isSharedLock,\n', ''),
    ],
    load: sharedLocks,
    knobs: { messages: { replay: 0.1, duplicate: 0.1 } },
  },
];
