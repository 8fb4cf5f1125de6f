/**
 * A scenario: tables, what is in them before the story begins, and the processes of which one may
 * begin the next task at any moment.
 *
 * A task is a program against the public interface of the engine, as a user would write it. What it
 * reads, writes and is told is recorded for the judges. So the values that transactions write to
 * one cell should differ, or a wrong read looks right.
 */
import type { CellAddress, Percolator, TableDefinition } from '../../../engine/core.ts';
import type { Work, WorkloadObserver } from '../invariants/workload.ts';

export interface ExplorerScenario {
  /** In lower case with hyphens: it stands in links. */
  readonly name: string;
  /** What it is about, in one sentence. */
  readonly about: string;
  readonly tables: Readonly<Record<string, TableDefinition>>;
  /** Values by cell (`accounts/Bob:balance`), committed at 6 by the transaction of 5. */
  readonly initial: Readonly<Record<string, string>>;
  readonly processes: readonly ExplorerActor[];
  /** The observers that a worker runs, also the last one, for the verdict. Default none. */
  readonly observers?: readonly WorkloadObserver[] | undefined;
  /**
   * Whether a lock service tells all processes at once that one has died. Default true. Otherwise
   * only time shows it: a lock's time to live.
   */
  readonly deathIsKnown?: boolean | undefined;
  /** The first timestamp that the oracle hands out in the story. Default 7. */
  readonly firstTimestamp?: number | undefined;
  /**
   * Whether each process takes ranges of timestamps from the storage, as the processes do that
   * share a folder, with the engine's own allocator. Default: one oracle, which is a counter.
   */
  readonly ownRanges?: boolean | undefined;
  /** A cell that a last process, which reads nothing, must be able to write in the end. */
  readonly lastWrites?: string | undefined;
  /** How often a commit without an answer is sent. Default 2. */
  readonly inDoubtAttemptsMax?: number | undefined;
  /** How long a read waits for a living owner's lock, in milliseconds. Default: the engine's. */
  readonly lockWaitMsMax?: number | undefined;
}

export interface ExplorerActor {
  /** One or two words. */
  readonly name: string;
  /** Each `start` begins the next one; the last one may be begun again and again. */
  readonly tasks: readonly ExplorerTask[];
}

export interface ExplorerTask {
  /** What its button says: `move $7 from Bob to Joe`. */
  readonly does: string;
  readonly run: (client: TaskClient) => Promise<void>;
}

/** What a task works with. All but `percolator` is recorded. */
export interface TaskClient {
  readonly percolator: Percolator;
  /** One transaction, tried once. */
  readonly attempt: (body: (work: Work) => Promise<void>) => Promise<void>;
  /** A snapshot of the present, in which the cells are read one after the other. */
  readonly read: (...cells: readonly string[]) => Promise<void>;
  /** A worker scans, runs the scenario's observers until it finds nothing more, and stops. */
  readonly work: () => Promise<void>;
  /** One cycle of the garbage collection. */
  readonly collect: () => Promise<void>;
  /** Says something about what has happened, in the log. */
  readonly tell: (sentence: string) => void;
}

/** `accounts/Bob:balance`. */
export function cellOf(name: string): CellAddress {
  const slash = name.indexOf('/');
  const colon = name.indexOf(':', slash);
  return {
    table: name.slice(0, slash),
    row: name.slice(slash + 1, colon),
    column: name.slice(colon + 1),
  };
}

/** One transaction that writes all of these, in this order; undefined deletes. */
export function writing(values: Readonly<Record<string, string | undefined>>): ExplorerTask['run'] {
  return ({ attempt }) =>
    attempt(async (work) => {
      for (const [cell, value] of Object.entries(values)) {
        if (value === undefined) work.delete(cellOf(cell));
        else work.set(cellOf(cell), value);
      }
    });
}

/** What a worker does, in every scenario that has one. */
export const WORKER: ExplorerTask = {
  does: 'scan, and run the observers',
  run: ({ work }) => work(),
};

/** The number in a value such as `$10`; 0 if there is none. */
export function dollars(value: Uint8Array | undefined): number {
  return value === undefined ? 0 : Number(new TextDecoder().decode(value).replace('$', ''));
}
