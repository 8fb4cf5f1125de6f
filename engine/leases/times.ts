/**
 * Which timestamp it was at which time: notes for snapshots of a time, and for collectors that keep
 * a time's worth of history.
 *
 *     percolator-times: times    times:timestamp @ milliseconds since 1970 = a timestamp
 *
 * Timestamps count transactions and know no time. So a process that is asked to takes a fresh
 * timestamp now and then, reads the clock *after* it has come, and notes both. So a note says
 * "handed out by then": whatever commits later than the note's time is above its timestamp. The
 * newest note of a time or earlier gives a snapshot that sees nothing that began to commit after
 * that time, and all that was committed when the note was taken: at most one interval earlier.
 *
 * It is as right as the clocks of the processes that note. Nothing of the protocol depends on it
 * (P24, two machines' clocks): a snapshot is checked against the horizon like any other, and a
 * collector that keeps history only stays below the horizon that it could have.
 *
 * Notes below the horizon are erased, but for the newest, by the process that noted it. A note that
 * is lost, or hidden on a storage with tombstones because a clock was set back, makes the answer an
 * earlier one.
 */
import {
  bytesOf,
  type Clock,
  isFinal,
  PercolatorError,
  textOf,
  type Warnings,
} from '../base/index.ts';
import { check, FUNCTION, objectWith, WHOLE } from '../base/options.ts';
import type { Bigtable, Timestamp } from '../bigtable/index.ts';

export interface TimeNote {
  /** Milliseconds since 1970, on the clock of the process that noted it. */
  readonly wallMs: number;
  /** Handed out by then. */
  readonly timestamp: Timestamp;
}

const TABLE = 'percolator-times';
const ROW = 'times';
/** Not `instanceof`: a `Date` of another realm is one, too. */
const DATE = objectWith('a Date', { getTime: FUNCTION });
const NOTE = { family: 'times', qualifier: 'timestamp' } as const;

/** The newest note of that time or earlier; undefined if there is none. */
export async function noteAt(store: Bigtable, wallMs: number): Promise<TimeNote | undefined> {
  await store.createTable(TABLE, { families: [NOTE.family] });
  const to = Math.floor(wallMs);
  if (to < 0) return undefined;
  const cell = (await store.readRow(TABLE, ROW, [{ ...NOTE, to, versions: 1 }]))?.cells[0];
  return cell && { wallMs: cell.timestamp, timestamp: Number(textOf(cell.value)) };
}

/**
 * The timestamp of a snapshot of the past.
 * @throws INVALID_ARGUMENT if it is in the future: what it sees would still change
 * @throws STALE_SNAPSHOT for a time by which no process had noted one that is still there
 */
export async function timestampOf(
  { store, clock, oracle }: Omit<TimesServices, 'warnings'>,
  at: Timestamp | Date,
): Promise<Timestamp> {
  if (!isDate(at)) {
    check('the timestamp of a snapshot', at, WHOLE);
    const now = await oracle.next();
    if (at <= now) return at;
    throw new PercolatorError(
      'INVALID_ARGUMENT',
      `the timestamp of a snapshot must not be in the future: at most ${now}, not ${at}`,
    );
  }
  const accepts = (): boolean => at.getTime() <= clock.wallMs();
  check('the time of a snapshot', at, { expected: 'a time that is not in the future', accepts });
  const note = await noteAt(store, at.getTime());
  if (note !== undefined) return note.timestamp;
  throw new PercolatorError(
    'STALE_SNAPSHOT',
    `no process has noted which timestamp it was at ${at.toISOString()} or before, or what it ` +
      'noted was collected: open the database with timesEveryMs, and collect with historyMs',
  );
}

function isDate(at: unknown): at is Date {
  return DATE.accepts(at);
}

export interface TimesServices {
  readonly store: Bigtable;
  readonly clock: Clock;
  readonly oracle: { next(): Promise<Timestamp>; readonly horizon: Timestamp };
  readonly warnings: Warnings;
}

/** Notes a time every `everyMs` milliseconds, from now on until `signal` aborts. */
export async function noteTimes(
  services: TimesServices,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, warnings } = services;
  const notes = new OwnNotes();
  while (!signal.aborted) {
    try {
      await store.createTable(TABLE, { families: [NOTE.family] });
      await noteNow(services, notes);
      warnings.end('times');
    } catch (error) {
      if (signal.aborted) return;
      const sentence =
        'no time can be noted: a snapshot of such a time will be one of an earlier time';
      warnings.begin('times', { kind: 'times', sentence, error });
      if (isFinal(error)) return;
    }
    await clock.sleep(everyMs, signal, { background: true });
  }
}

async function noteNow({ store, clock, oracle }: TimesServices, notes: OwnNotes): Promise<void> {
  const timestamp = await oracle.next();
  const note = { wallMs: Math.ceil(clock.wallMs()), timestamp };
  notes.add(note);
  const passed = notes.newestUpTo(oracle.horizon);
  const set = {
    kind: 'set',
    ...NOTE,
    timestamp: note.wallMs,
    value: bytesOf(`${timestamp}`),
  } as const;
  const older = passed && ({ kind: 'erase', ...NOTE, from: 0, to: passed.wallMs - 1 } as const);
  const mutations = older === undefined ? [set] : [set, older];
  await store.mutateRows([{ table: TABLE, row: ROW, mutations, provisional: true }]);
}

/** So many are remembered at most. */
const NOTES_MAX = 1_000;

/**
 * The notes of this process that are not erased, oldest first. Of very many, which it is where no
 * collector runs, it remembers every second, fourth, ...: then some are erased a little later.
 */
class OwnNotes {
  #notes: TimeNote[] = [];
  #every = 1;
  #passedOver = 0;

  add(note: TimeNote): void {
    this.#passedOver++;
    if (this.#passedOver < this.#every) return;
    this.#passedOver = 0;
    this.#notes.push(note);
    if (this.#notes.length <= NOTES_MAX) return;
    this.#notes = this.#notes.filter((_, i) => i % 2 === 0);
    this.#every *= 2;
  }

  /** Forgets those before it. */
  newestUpTo(horizon: Timestamp): TimeNote | undefined {
    while ((this.#notes[1]?.timestamp ?? Infinity) <= horizon) this.#notes.shift();
    const [first] = this.#notes;
    return first !== undefined && first.timestamp <= horizon ? first : undefined;
  }
}
