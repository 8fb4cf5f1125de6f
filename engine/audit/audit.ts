/**
 * The audit: every row of the given tables, read once, and again if something is wrong.
 *
 *     rows ───────────▶ batches ─┐
 *     notifications ──▶ batches ─┴▶ judge ─▶ nothing wrong
 *                                      └──▶ read notifications and row again
 *                                            ─▶ judge ─▶ found both times ─▶ finding
 *     locks met ─▶ gathered ─▶ ask their primaries (judge-lock.ts) ─▶ finding
 *
 * The audit runs on a database in use and reports no false errors. It reads one row atomically, but
 * not a row together with its notifications. So the second look reads the notifications before the
 * row. It reports a lost notification only if the notification is missing before the row is read
 * and the row still has no acknowledgment of the change afterwards. An observer that ran in between
 * cannot cause that, because it acknowledges before it clears. The audit of a table that is dropped
 * meanwhile ends there.
 *
 * A row that the storage cannot read any more is a finding of its own (`DamagedRows`). Nothing is
 * concluded from what may be in it: without its notifications a row is judged as if its table had
 * none.
 *
 * Memory is bounded: a batch of rows, the gathered locks, and the keys of damaged rows. Without
 * `repair` nothing is written.
 */
import { hasCode, PercolatorError } from '../base/index.ts';
import {
  type Cell,
  type Row,
  rangeBehind,
  rowBatches,
  type RowRange,
  type Bigtable,
  decorate,
  keyAfter,
} from '../bigtable/index.ts';
import {
  type Context,
  isTableNotFound,
  NOTIFY_FAMILIES,
  notifyTable,
  TABLE_FAMILIES,
} from '../transaction/index.ts';
import { historiesOf } from './column-history.ts';
import { type Finding, keyOf } from './finding.ts';
import { judgeLock, type LockToJudge, type LockVerdict, wasDropped } from './judge-lock.ts';
import type { AuditedTable, RowToJudge } from './judge-notifications.ts';
import { judgeRow, type AuditLimits } from './judge-row.ts';
import { repair } from './repair.ts';

export interface AuditOptions {
  /** Repairs what can be repaired safely; each finding says what was done. Default false. */
  readonly repair?: boolean | undefined;
  /**
   * Whether to wait for the time to live of locks whose owners are not known to be dead, to see
   * whether their heartbeats change. Default false: such a lock counts as alive; but if its primary
   * is decided, the lock is reported as left (a warning), though its owner may be about to remove
   * it.
   */
  readonly waitForLocks?: boolean | undefined;
  /**
   * Age in milliseconds from which a lock that may be alive is listed: now minus the wall-clock
   * time that its owner has written into it. Default 60,000. Too small: transactions at work are
   * listed. Too large: a transaction that hangs is not.
   */
  readonly longHeldMs?: number | undefined;
}

/** An audit in progress: iterate over it, once, for the findings. */
export interface Audit extends AsyncIterable<Finding> {
  /**
   * What has been read so far; the rows of notifications count with the rows that they belong to.
   */
  readonly counters: { readonly tables: number; readonly rows: number; readonly cells: number };
}

/**
 * Audits the tables on the store of `context`, whose oracle and liveness are asked as well.
 * @param damaged reads around the damaged rows of that store
 */
export function audit(
  context: Context,
  tables: readonly AuditedTable[],
  options: AuditOptions = {},
  damaged: DamagedRows = new DamagedRows(context.store),
): Audit {
  return new TablesAudit({ ...context, store: damaged.store }, tables, options, damaged);
}

/** Locks gathered before their primaries are read. */
const LOCKS_GATHERED = 1_000;
/** A lock may name any time to live; the audit waits no longer for it than this. */
const WAIT_MS_MAX = 60_000;

class TablesAudit implements Audit {
  readonly counters = { tables: 0, rows: 0, cells: 0 };
  readonly #context: Context;
  readonly #tables: readonly AuditedTable[];
  readonly #options: AuditOptions;
  readonly #damaged: DamagedRows;
  #limits: AuditLimits = { bound: 0, horizon: 0 };
  #locks: LockToJudge[] = [];

  constructor(
    context: Context,
    tables: readonly AuditedTable[],
    options: AuditOptions,
    damaged: DamagedRows,
  ) {
    this.#damaged = damaged;
    this.#context = context;
    this.#tables = tables;
    this.#options = options;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Finding> {
    for await (const finding of this.#findings()) {
      yield this.#options.repair === true ? await repair(this.#context, finding) : finding;
    }
  }

  async *#findings(): AsyncGenerator<Finding> {
    await this.#askOracle();
    for (const audited of this.#tables) {
      this.counters.tables++;
      yield* this.#auditTable(audited);
    }
    yield* this.#judgeLocks();
    yield* this.#damaged.take();
  }

  async *#auditTable(audited: AuditedTable): AsyncGenerator<Finding> {
    const { store } = this.#context;
    const { table } = audited;
    const unreadable = await this.#whyUnreadable(table, FAMILIES);
    if (unreadable !== undefined) {
      const missing = isTableNotFound(unreadable);
      if (missing && (await wasDropped(this.#context, table))) return;
      yield tableFinding(table, missing ? 'table-missing' : 'table-unreadable', unreadable.message);
      return;
    }
    const companion = await this.#whyUnreadable(notifyTable(table), NOTIFICATIONS);
    if (companion !== undefined) {
      if (await this.#isBeingDropped(audited)) return; // The companion goes first.
      yield companionFinding(table, companion);
    }
    // A repair creates the companion again, empty; the audit then reports each lost notification.
    const hasCompanion =
      (await this.#whyUnreadable(notifyTable(table), NOTIFICATIONS)) === undefined;
    const known = hasCompanion ? audited : withoutNotifications(audited);
    try {
      for await (const { rows, range } of rowBatches(store, table, {}, FAMILIES)) {
        yield* this.#damaged.take();
        yield* this.#auditBatch(known, rows, { range, hasCompanion });
      }
    } catch (error) {
      if (hasCode(error, 'STORE_DAMAGED')) {
        // The storage does not say which row it is, so there is no way around it.
        yield tableFinding(table, 'row-damaged', `${error.message}; the rest was not audited`);
      } else if (!isTableNotFound(error) || !(await wasDropped(this.#context, table))) throw error;
    }
  }

  async #isBeingDropped({ table, isDefined = true }: AuditedTable): Promise<boolean> {
    return isDefined && wasDropped(this.#context, table);
  }

  /**
   * The rows that have notifications, with or without cells of their own; then the rows without
   * notifications.
   */
  async *#auditBatch(
    audited: AuditedTable,
    rows: readonly Row[],
    { range, hasCompanion }: { readonly range: RowRange; readonly hasCompanion: boolean },
  ): AsyncGenerator<Finding> {
    const unnotified = new Map(rows.map((row) => [row.key, row.cells]));
    const companion = notifyTable(audited.table);
    const batches = hasCompanion
      ? rowBatches(this.#context.store, companion, range, NOTIFICATIONS)
      : [];
    for await (const batch of batches) {
      for (const { key, cells: notifications } of batch.rows) {
        if (this.#damaged.has(audited.table, key)) continue;
        yield* this.#auditRow(audited, key, unnotified.get(key) ?? [], notifications);
        unnotified.delete(key);
      }
    }
    yield* this.#damaged.take();
    // Also rows whose notifications are damaged: the second look, at one row, tells them apart.
    for (const [key, cells] of unnotified) yield* this.#auditRow(audited, key, cells, []);
  }

  async *#auditRow(
    audited: AuditedTable,
    row: string,
    cells: readonly Cell[],
    notifications: readonly Cell[],
  ): AsyncGenerator<Finding> {
    this.counters.rows++;
    this.counters.cells += cells.length + notifications.length;
    const subject = { audited, row, histories: historiesOf(cells), notifications };
    const suspected = this.#judge(subject);
    const findings = suspected.length === 0 ? [] : await this.#lookAgain(subject, suspected);
    yield* findings;
    this.#gatherLocks(subject, findings);
    if (this.#locks.length >= LOCKS_GATHERED) yield* this.#judgeLocks();
  }

  async #askOracle(): Promise<void> {
    const { oracle } = this.#context;
    const bound = await oracle.next();
    this.#limits = { bound, horizon: oracle.horizon };
  }

  #judge(subject: RowToJudge): readonly Finding[] {
    return judgeRow(subject, this.#limits);
  }

  /** The suspicions that a second look confirms. */
  async #lookAgain(
    { audited, row }: RowToJudge,
    suspected: readonly Finding[],
  ): Promise<readonly Finding[]> {
    const { table } = audited;
    const notifications = await unlessDamaged(this.#readNotifications(audited, row));
    const cells = await unlessDamaged(this.#readCells(table, row));
    if (cells === undefined) return [];
    // After the cells were read: an older bound would be below new cells, and an older horizon
    // below what has been collected.
    await this.#askOracle();
    const known = notifications === undefined ? withoutNotifications(audited) : audited;
    const subject = {
      audited: known,
      row,
      histories: historiesOf(cells),
      notifications: notifications ?? [],
    };
    const again = this.#judge(subject);
    const before = new Map(suspected.map((finding) => [keyOf(finding), finding]));
    return again.flatMap((finding) => confirmed(before.get(keyOf(finding)), finding));
  }

  async #readCells(table: string, row: string): Promise<readonly Cell[]> {
    return (await this.#context.store.readRow(table, row, FAMILIES))?.cells ?? [];
  }

  async #readNotifications(audited: AuditedTable, row: string): Promise<readonly Cell[]> {
    const companion = notifyTable(audited.table);
    try {
      return (await this.#context.store.readRow(companion, row, NOTIFICATIONS))?.cells ?? [];
    } catch (error) {
      if (!(error instanceof PercolatorError && isUnreadable(error))) throw error;
      if (await this.#isBeingDropped(audited)) throw error; // `#auditTable` ends the table's audit.
      return [];
    }
  }

  /** A misplaced lock has been reported; whatever its primary says does not excuse it. */
  #gatherLocks({ audited, row, histories }: RowToJudge, findings: readonly Finding[]): void {
    const reported = findings.filter(({ code }) => code.startsWith('lock-'));
    const columns = new Set(reported.map(({ cell }) => cell.column));
    for (const [column, { locks }] of histories) {
      if (columns.has(column)) continue;
      const cell = { table: audited.table, row, column };
      this.#locks.push(...locks.map((lock) => ({ cell, lock })));
    }
  }

  async *#judgeLocks(): AsyncGenerator<Finding> {
    const locks = this.#locks;
    this.#locks = [];
    const undecided: LockToJudge[] = [];
    for (const lock of locks) {
      const { finding, isUndecided } = await this.#judgeLock(lock);
      if (isUndecided && this.#options.waitForLocks === true) undecided.push(lock);
      else if (finding !== undefined) yield finding;
    }
    if (undecided.length === 0) return;
    const { clock } = this.#context;
    const waitMs = Math.max(...undecided.map(({ lock }) => lock.timeToLiveMs));
    const endMs = clock.monotonicMs() + Math.min(WAIT_MS_MAX, waitMs);
    // Timers may wake early, and then the locks would not be old enough.
    while (clock.monotonicMs() < endMs) await clock.sleep(endMs - clock.monotonicMs());
    for (const lock of undecided) {
      const { finding } = await this.#judgeLock(lock);
      if (finding !== undefined) yield finding;
    }
  }

  /**
   * Before it reports an error, asks for the horizon: the traces at the primary may have been
   * collected.
   */
  async #judgeLock(lock: LockToJudge): Promise<LockVerdict> {
    const { longHeldMs = 60_000 } = this.#options;
    const judge = (): Promise<LockVerdict> =>
      judgeLock(this.#context, lock, { longHeldMs, horizon: this.#limits.horizon });
    const verdict = await judge();
    if (verdict.finding?.severity !== 'error') return verdict;
    await this.#askOracle();
    return judge();
  }

  async #whyUnreadable(
    table: string,
    filters: typeof FAMILIES,
  ): Promise<PercolatorError | undefined> {
    try {
      await this.#context.store.readRange(table, { limit: 1 }, filters);
      return undefined;
    } catch (error) {
      if (error instanceof PercolatorError && isUnreadable(error)) return error;
      if (hasCode(error, 'STORE_DAMAGED')) return undefined; // The audit will meet it again.
      throw error;
    }
  }
}

/** Undefined if the row is damaged, which is a finding of its own. */
async function unlessDamaged<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof PercolatorError && error.damagedRow !== undefined) return undefined;
    throw error;
  }
}

function withoutNotifications(audited: AuditedTable): AuditedTable {
  return { ...audited, observedColumns: undefined };
}

/**
 * The second look's finding, if the first look made the same one. It may have notifications erased
 * only if the first look's finding may. The second bound, asked for after the row was read, may be
 * above a notification that the first look found ahead of the oracle; with that notification, a
 * repair would also erase the notification of a commit that came between the looks.
 */
function confirmed(first: Finding | undefined, second: Finding): readonly Finding[] {
  if (first === undefined) return [];
  const { fix, ...found } = second;
  return [fix?.kind === 'erase notifications' && first.fix === undefined ? found : second];
}

const FAMILIES = TABLE_FAMILIES.map((family) => ({ family }));
const NOTIFICATIONS = NOTIFY_FAMILIES.map((family) => ({ family }));

function isUnreadable({ code }: PercolatorError): boolean {
  return ['TABLE_NOT_FOUND', 'FAMILY_NOT_FOUND', 'TABLE_MISMATCH'].includes(code);
}

function companionFinding(table: string, { code, message }: PercolatorError): Finding {
  const companion = notifyTable(table);
  // The companion exists in another form, so none can be created.
  if (code !== 'TABLE_NOT_FOUND') return tableFinding(companion, 'table-unreadable', message);
  const sentence = `${companion}, which holds the notifications of ${table}, is not there`;
  const fix = { kind: 'create companion', table } as const;
  return { ...tableFinding(table, 'companion-missing', sentence), fix };
}

function tableFinding(table: string, code: Finding['code'], sentence: string): Finding {
  return { code, severity: 'error', cell: { table }, timestamps: [], sentence };
}

/**
 * Reads around damaged rows: the storage of an audit, which goes on after the first damage.
 *
 *     readRange ─▶ STORE_DAMAGED, names a row ─▶ a finding
 *                                             └▶ the rows before it, and on from the key after it
 *     readRow   ─▶ STORE_DAMAGED ─▶ a finding, and the error: no reader may take the row for absent
 *
 * A range therefore has no damaged row in it, and who compares two ranges must ask `has`. Each row
 * is told once, so the keys of damaged rows stay in memory. A storage that does not say which row
 * is damaged cannot be read around: its error passes through.
 */
export class DamagedRows {
  /** Reads around damaged rows. */
  readonly store: Bigtable;
  /** By table. */
  readonly #rows = new Map<string, Set<string>>();
  #untold: Finding[] = [];

  constructor(store: Bigtable) {
    this.store = decorate(store, {
      readRow: (...given) => this.#noting(() => store.readRow(...given)),
      readRows: (...given) => this.#noting(() => store.readRows(...given)),
      readRange: (...given) => this.#readAround(store, ...given),
    });
  }

  has(table: string, row: string): boolean {
    return this.#rows.get(table)?.has(row) === true;
  }

  /** The damaged rows of the table that were met so far. */
  of(table: string): ReadonlySet<string> {
    return this.#rows.get(table) ?? new Set();
  }

  /** The findings since the last call. */
  take(): readonly Finding[] {
    const untold = this.#untold;
    this.#untold = [];
    return untold;
  }

  async #noting<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      this.#note(error);
      throw error;
    }
  }

  async #readAround(
    store: Bigtable,
    ...[table, range, filters]: Parameters<Bigtable['readRange']>
  ): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for (let left = range; rows.length < range.limit;) {
      const rest = { ...left, limit: range.limit - rows.length };
      try {
        return [...rows, ...(await store.readRange(table, rest, filters))];
      } catch (error) {
        const damaged = this.#note(error);
        if (damaged === undefined) throw error;
        const before = range.reverse === true ? { start: keyAfter(damaged) } : { end: damaged };
        rows.push(...(await this.#readAround(store, table, { ...rest, ...before }, filters)));
        left = rangeBehind(left, damaged);
      }
    }
    return rows;
  }

  /** The row that the error names. */
  #note(error: unknown): string | undefined {
    if (!hasCode(error, 'STORE_DAMAGED') || error.damagedRow === undefined) return undefined;
    const { table, row, why } = error.damagedRow;
    const known = this.#rows.get(table) ?? new Set();
    this.#rows.set(table, known);
    if (!known.has(row)) this.#untold.push(rowDamaged(table, row, why));
    known.add(row);
    return row;
  }
}

function rowDamaged(table: string, row: string, sentence: string): Finding {
  return { code: 'row-damaged', severity: 'error', cell: { table, row }, timestamps: [], sentence };
}
