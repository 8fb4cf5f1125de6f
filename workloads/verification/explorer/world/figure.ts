/**
 * Figure 6 of the paper in plain words, with what the paper tells in prose: cleaning up, observers,
 * the collection. A process is at the line whose request it waits for. The line is read from the
 * request itself, and never from a second copy of the protocol.
 */
import { unreachable } from '../../../../engine/base/index.ts';
import type { Mutation } from '../../../../engine/bigtable/index.ts';
import {
  DATA,
  isOf,
  LOCK,
  NOTIFY,
  ROLLBACK,
  WEAK,
  WRITE,
} from '../../../../engine/transaction/index.ts';
import { type ExplorerMessage, type ExplorerRequest, isOfRanges } from './message.ts';

export interface FigureLine {
  readonly name: LineName;
  readonly text: string;
  /** Which rules guard it, and why, for its tooltip. */
  readonly why: string;
}

export interface FigurePart {
  readonly title: string;
  readonly lines: readonly FigureLine[];
}

export type LineName =
  | 'start'
  | 'get'
  | 'prewrite'
  | 'look'
  | 'commit timestamp'
  | 'notify'
  | 'commit'
  | 'roll back'
  | 'scan'
  | 'clear'
  | 'horizon'
  | 'collect'
  | 'heartbeat';

export const FIGURE: readonly FigurePart[] = [
  {
    title: 'begin, get',
    lines: [
      {
        name: 'start',
        text: 'start = oracle.timestamp()',
        why: 'P31: a lease comes first, so that what this snapshot sees is not collected. P35 to P37: no timestamp is handed out twice.',
      },
      {
        name: 'get',
        text: 'get: lock ≤ start? newest write record ≤ start, and its data',
        why: 'P19: a reader looks at locks up to its start. P20: lock, record and data come from one read of the row.',
      },
    ],
  },
  {
    title: 'commit',
    lines: [
      {
        name: 'prewrite',
        text: 'prewrite, all rows at once: no lock, no record ≥ start then put data and lock at start',
        why: 'P1: its own rollback record refuses it. P14, P19: any newer record, any lock. P90, P91: shared locks pass over one another only. P22: it fails at once, and waits for nothing.',
      },
      {
        name: 'look',
        text: 'no answer, or a lock? look at the cell: whose lock is it, what became of it?',
        why: 'P11, P12: no conflict and no failure is believed before a read has shown what happened. P27: no lock is touched before its primary has been asked.',
      },
      {
        name: 'commit timestamp',
        text: 'commit = oracle.timestamp()',
        why: 'P10: only now, when all locks are held. P31: the horizon that comes with it must be below the snapshot.',
      },
      {
        name: 'notify',
        text: 'put notifications at commit',
        why: 'P40, P41: before the commit point, or a change could be there that no observer hears of.',
      },
      {
        name: 'commit',
        text: 'lock at start still there? then put write record at commit, erase lock',
        why: 'THE COMMIT POINT if it is the primary. P9, P26: only if the lock is still there, in the same row mutation. P11: if no answer comes, the outcome is looked for.',
      },
    ],
  },
  {
    title: 'clean up after others, and oneself',
    lines: [
      {
        name: 'roll back',
        text: 'lock at start still there? then put rollback record, erase lock and data',
        why: 'P1, P8: a rollback record is left. P2, P27: first the primary, then the rest. P33: the data goes with the lock.',
      },
      {
        name: 'heartbeat',
        text: 'every third of the time to live: change the lock of the primary',
        why: 'P24, P25: a lock that does not change for its time to live counts as dead, on the clock of the process that watches it.',
      },
    ],
  },
  {
    title: 'observers',
    lines: [
      {
        name: 'scan',
        text: 'scan the notifications; run the observer as a transaction that also acknowledges',
        why: 'P42, P48: of two runs for one change, one loses on the acknowledgment.',
      },
      {
        name: 'clear',
        text: 'erase the notifications up to the start of the run',
        why: 'P41: what was committed since stays.',
      },
    ],
  },
  {
    title: 'garbage collection',
    lines: [
      {
        name: 'horizon',
        text: 'raise the horizon to what no lease needs; wait until no message can be in flight',
        why: 'P31: it is persisted before anything is deleted. P4: a rollback record outlives the messages that it stops.',
      },
      {
        name: 'collect',
        text: 'resolve all old locks; then erase what is garbage below the horizon',
        why: 'P30: the evidence at a primary is needed until its locks are resolved. P17: a delete is the last to go.',
      },
    ],
  },
];

/** @param before what its sender sent earlier, oldest first */
export function lineOf(
  { request }: Pick<ExplorerMessage, 'request'>,
  before: readonly ExplorerMessage[],
): LineName {
  if (isOfRanges(request)) return isCommitting(before) ? 'commit timestamp' : 'start';
  switch (request.kind) {
    case 'timestamp':
      return isCommitting(before) ? 'commit timestamp' : 'start';
    case 'horizon':
    case 'raise horizon':
    case 'announce drop':
      return 'horizon';
    case 'read':
      return asksFor(ROLLBACK, request) ? 'look' : 'get';
    case 'range':
      if (request.table.endsWith('.notify')) return 'scan';
      return asksFor(DATA, request) && !asksFor(ROLLBACK, request) ? 'get' : 'collect';
    case 'check':
    case 'mutate':
      return lineOfChange(request);
    default:
      return unreachable(request);
  }
}

function asksFor(
  kind: string,
  { filters }: Extract<ExplorerRequest, { readonly filters: unknown }>,
): boolean {
  return filters.some(({ qualifier, suffix }) => (qualifier ?? suffix ?? '').endsWith(`:${kind}`));
}

/** Whether it has locked something since it last had a timestamp. */
function isCommitting(before: readonly ExplorerMessage[]): boolean {
  const last = before.findLastIndex(({ request }) => request.kind === 'timestamp');
  return before
    .slice(last + 1)
    .filter(({ request }) => !isOfRanges(request))
    .some(({ request }) => lineOfChange(request) === 'prewrite');
}

/** A heartbeat changes a lock that is there; a prewrite sets one where nothing is in its way. */
function lineOfChange(request: ExplorerRequest): LineName {
  const { ifFound = [] } = request.kind === 'check' ? request : {};
  const isHeartbeat = ifFound.some((one) => one.kind === 'set' && isOf(LOCK, one));
  return isHeartbeat ? 'heartbeat' : lineOfMutations(mutationsOf(request));
}

function mutationsOf(request: ExplorerRequest): readonly Mutation[] {
  if (request.kind === 'mutate') return request.mutations;
  if (request.kind !== 'check') return [];
  return [...(request.ifFound ?? []), ...(request.ifNotFound ?? [])];
}

function lineOfMutations(mutations: readonly Mutation[]): LineName {
  const sets = mutations.filter(({ kind }) => kind === 'set');
  if (sets.some((one) => one.family === NOTIFY || one.family === WEAK)) return 'notify';
  if (sets.some((one) => isOf(LOCK, one))) return 'prewrite';
  if (sets.some((one) => isOf(WRITE, one))) return 'commit';
  if (sets.some((one) => isOf(ROLLBACK, one))) return 'roll back';
  if (mutations.some(({ family }) => family === NOTIFY || family === WEAK)) return 'clear';
  return mutations.some((one) => isOf(LOCK, one)) ? 'roll back' : 'collect';
}
