/**
 * Readers of changes in a round. Each client follows some tables, so that each table is followed by
 * one slot, and is killed while it does. Each event is a line of the history of the life that heard
 * it, and says the cursor: the next life of the slot goes on from the last one that is written.
 * When all processes are gone, the parent reads on from there, to the end.
 *
 *     1.1.jsonl   bank: x@20 y@20 resolved 40 z@44     kill -9
 *     1.2.jsonl   bank: x@44 resolved 61 ...
 *     parent      bank: x@90 resolved 117              all of it is one section (judges/changes.ts)
 *
 * With collectors, what was committed while a slot had no process, or one that was stopped for
 * long, may be collected. Then the reader begins again at the present, and a new section.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import {
  type ChangeEvent,
  type ChangesOptions,
  hasCode,
  type Percolator,
  type Random,
  systemClock,
  textOf,
  type Timestamp,
} from '#engine';
import { patiently } from '../../harness/processes/index.ts';
import type { Workload } from '../invariants/index.ts';
import { type FollowedChange, type FollowedSection, historicCell } from '../judges/index.ts';
import { byLife, type Followed, type HistoryFile, parseLines } from './history-file.ts';

/**
 * Milliseconds after a resolved timestamp, and in the middle of changes now and then. Looks without
 * pause would take half of the process, and a kill would seldom hit a reader between two changes.
 */
const REST_MS = 50;
const RESTS_IN_CHANGES = 0.01;
/** The part of the readings that ask for the values before. */
const ASKS_BEFORE = 0.3;
/** Then it is opened again, from its cursor. */
const RESOLVED_MAX = 20;

/** Who follows, and where its history is. */
export interface FollowerOptions {
  readonly slot: string;
  /** How many clients share the tables. */
  readonly clients: number;
  readonly workloads: readonly Workload[];
  /** The folder of all histories. */
  readonly history: string;
  /** Takes the lines of these readers. */
  readonly log: Pick<HistoryFile, 'followed'>;
  /** Whether collectors run, which may collect what a reader wants next. */
  readonly gc: boolean;
}

/** The readers of a slot, as its last life has left them. */
export function followersOf(
  percolator: Pick<Percolator, 'changes'>,
  options: FollowerOptions,
): readonly Follower[] {
  const { slot, clients, workloads, history } = options;
  const tables = workloads
    .flatMap((workload) => Object.keys(workload.tables))
    .filter((_, i) => i % clients === Number(slot) - 1);
  const cursors = lastCursors(history, { slot, tables });
  return tables.map((table) => new Follower(percolator, table, options, cursors.get(table)));
}

/** Of those tables that an earlier life has followed. */
function lastCursors(
  folder: string,
  { slot, tables }: { readonly slot: string; readonly tables: readonly string[] },
): ReadonlyMap<string, string> {
  const cursors = new Map<string, string>();
  const lives = readdirSync(folder).filter((name) => name.startsWith(`${slot}.`));
  for (const name of lives.toSorted(byLife).toReversed()) {
    const lines = [...parseLines(readFileSync(path.join(folder, name), 'utf8'))].toReversed();
    for (const line of lines) {
      if (line.kind !== 'followed' || cursors.has(line.followed.table)) continue;
      cursors.set(line.followed.table, line.followed.cursor);
    }
    if (cursors.size === tables.length) break;
  }
  return cursors;
}

export class Follower {
  readonly #percolator: Pick<Percolator, 'changes'>;
  readonly table: string;
  readonly #options: Pick<FollowerOptions, 'log' | 'gc'>;
  /** Undefined: the place was lost. */
  #from: string | Timestamp | undefined;

  constructor(
    percolator: Pick<Percolator, 'changes'>,
    table: string,
    options: Pick<FollowerOptions, 'log' | 'gc'>,
    cursor?: string,
  ) {
    this.#percolator = percolator;
    this.table = table;
    this.#options = options;
    this.#from = cursor ?? 0;
  }

  /** @param patienceMs for how long the store may be away */
  async follow(random: Random, patienceMs: number): Promise<never> {
    for (;;) {
      await patiently(patienceMs, () => {
        const before = random.fraction() < ASKS_BEFORE;
        return this.#readOn({ follow: true, before }, random);
      });
      await systemClock.sleep(REST_MS);
    }
  }

  /** All changes up to now. */
  readToTheEnd(): Promise<void> {
    return this.#readOn({});
  }

  async #readOn(options: ChangesOptions, random?: Random): Promise<void> {
    let left = RESOLVED_MAX;
    try {
      const from = this.#from;
      for await (const event of this.#percolator.changes(this.table, { ...options, from })) {
        this.#hear(event);
        if (random === undefined) continue;
        if (event.kind === 'resolved' && --left === 0) return;
        const rests = event.kind === 'resolved' || random.fraction() < RESTS_IN_CHANGES;
        if (rests) await systemClock.sleep(REST_MS);
      }
    } catch (error) {
      if (!hasCode(error, 'STALE_SNAPSHOT')) throw error;
      const message = `changes of ${this.table} were collected, without a collector`;
      if (!this.#options.gc) throw new Error(message, { cause: error });
      this.#from = undefined;
    }
  }

  #hear(event: ChangeEvent): void {
    const { cursor } = event;
    const table = this.table;
    const { log } = this.#options;
    if (event.kind === 'resolved') {
      const begins = this.#from === undefined;
      log.followed({ table, cursor, resolved: event.timestamp, begins });
    } else {
      const { row, column, startTimestamp, commitTimestamp } = event;
      const value = event.value && textOf(event.value);
      const before =
        'before' in event ? { value: event.before && textOf(event.before) } : undefined;
      const cell = historicCell({ table, row, column });
      log.followed({
        table,
        cursor,
        change: { cell, startTimestamp, commitTimestamp, value, before },
      });
    }
    this.#from = cursor;
  }
}

/** Of all tables. @param followed in the order in which they were heard */
export function sectionsOf(followed: readonly Followed[]): readonly FollowedSection[] {
  const sections: Section[] = [];
  const present = new Map<string, Section>();
  for (const { table, ...event } of followed) {
    const begins = 'resolved' in event && event.begins;
    let section = begins ? undefined : present.get(table);
    if (section === undefined) {
      const from = begins ? event.resolved : 0;
      section = { stored: table, from, resolved: from, changes: [] };
      sections.push(section);
      present.set(table, section);
    }
    if ('resolved' in event) section.resolved = event.resolved;
    else section.changes.push({ ...event.change, after: section.resolved });
  }
  return sections;
}

interface Section extends FollowedSection {
  resolved: Timestamp;
  readonly changes: FollowedChange[];
}
