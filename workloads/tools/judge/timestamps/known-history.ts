/**
 * A judged history in the form that stories need: by index of the transaction, with the timestamps
 * of the file for sentences, with positions for comparisons, and with the versions of the keys in
 * the stories.
 */
import type { HistoricValue } from '../../../verification/judges/index.ts';
import type { CellName, Draft } from './cells.ts';
import type { CollectedHistory, Collector } from './collect.ts';

export interface KnownVersion {
  /** The index of the transaction that wrote it. */
  readonly writer: number;
  /** The position of its commit. */
  readonly commit: number;
  readonly value: string | undefined;
}

export class KnownHistory {
  readonly collected: CollectedHistory;
  readonly #collector: Collector;
  /** The index of a transaction, by the position of its start. */
  readonly #indexes: Int32Array;
  /** In commit order. */
  readonly #versions = new Map<CellName, KnownVersion[]>();
  /** By cell and value: the failed transaction that wrote it. */
  readonly #failed = new Map<string, number>();

  /** @param about start positions of the transactions whose keys the stories need */
  constructor(collector: Collector, collected: CollectedHistory, about: Iterable<number>) {
    const { positions, history } = collected;
    this.collected = collected;
    this.#collector = collector;
    this.#indexes = new Int32Array(positions.last + 1);
    for (const [i, position] of positions.starts.entries()) this.#indexes[position] = i;
    for (const position of about) {
      const { reads, writes } = this.draft(this.indexOf(position));
      for (const { cell } of [...reads, ...writes]) this.#versions.set(cell, []);
    }
    for (const { cell, startTimestamp, commitTimestamp, operation } of history.records) {
      const versions = this.#versions.get(cell);
      if (versions === undefined || operation === 'touch') continue;
      const writer = this.indexOf(startTimestamp);
      const value = this.draft(writer).writes.find((write) => write.cell === cell)?.value;
      versions.push({ writer, commit: commitTimestamp, value });
    }
    for (const [i, { outcome, writes }] of collector.drafts.entries()) {
      if (outcome !== 'failed') continue;
      for (const { cell, value } of writes) {
        if (this.#versions.has(cell)) this.#failed.set(`${cell} ${value}`, i);
      }
    }
  }

  indexOf(startPosition: number): number {
    return this.#indexes[startPosition] ?? 0;
  }

  draft(index: number): Draft {
    const draft = this.#collector.drafts[index];
    if (draft === undefined) throw new Error(`there is no transaction ${index}`);
    return draft;
  }

  line(index: number): number {
    return this.#collector.lines[index] ?? 0;
  }

  /** The name of a transaction: `T` and its line. */
  name(index: number): string {
    return `T${this.line(index)}`;
  }

  /** The start timestamp, as in the file. */
  start(index: number): string {
    return `${this.#collector.starts[index]}`;
  }

  /**
   * The commit timestamp, as in the file; undefined if the file has none, or if the transaction
   * wrote and locked nothing.
   */
  commit(index: number): string | undefined {
    const commit = this.#collector.commits[index];
    return commit === undefined ? undefined : `${commit}`;
  }

  /** ` at 120`; empty if `commit` is undefined. */
  whenCommitted(index: number): string {
    const commit = this.commit(index);
    return commit === undefined ? '' : ` at ${commit}`;
  }

  /** The version of `cell` that a snapshot at `position` contains. */
  visible(cell: CellName, position: number): KnownVersion | undefined {
    return this.#versions.get(cell)?.findLast(({ commit }) => commit <= position);
  }

  /** The first deletion that left `cell` without a value at some time after `position`. */
  deletionAfter(cell: CellName, position: number): KnownVersion | undefined {
    const versions = this.#versions.get(cell) ?? [];
    return versions.find(
      ({ value }, i) => value === undefined && (versions[i + 1]?.commit ?? Infinity) > position,
    );
  }

  /** The first version of `cell` with this value. */
  versionOf({ cell, value }: HistoricValue): KnownVersion | undefined {
    return this.#versions.get(cell)?.find((version) => version.value === value);
  }

  /** The failed transaction that wrote this value, if there is one. */
  failedWriter({ cell, value }: HistoricValue): number | undefined {
    return this.#failed.get(`${cell} ${value}`);
  }

  /** The transaction that wrote this value and then another one to the same key. */
  replacedBy({ cell, value }: HistoricValue): number | undefined {
    return this.#collector.replaced.get(`${cell} ${value}`);
  }

  /** Whether a scan read or missed the cell. */
  isOfScan(index: number, cell: CellName): boolean {
    return this.#collector.isScanned(index, cell);
  }
}

/**
 * A key and its value as stories print them: `"x" = 5`, or `"x" = version 12` if the history's
 * reads tell versions; then a write without a version is only `"x"`.
 */
export function shown({ cell, value }: HistoricValue): string {
  // Reads tell versions, and this write has none: its transaction has no commit timestamp.
  if (value?.startsWith('?')) return cell;
  return `${cell} = ${shownValue(value)}`;
}

export function shownValue(value: string | undefined): string {
  if (value === undefined) return 'nothing';
  const text = /^v\d/.test(value) ? `version ${value.slice(1)}` : value;
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
