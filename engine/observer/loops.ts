/**
 * Reports observers that trigger themselves without end (P83): the trouble of a column begins when
 * one of its cells has run `loopRuns` times in a row, each run caused by the one before.
 *
 * It is over when the cell runs for another reason, or has not run for `slowMs`; not when a scan
 * finds nothing to do, because the loop may be in another process just then. After that, another
 * cell of the column may be reported: a loop may go through any number of cells, and this keeps one
 * for each column.
 */
import type { Clock, Troubles } from '../base/index.ts';
import { causeAfter } from '../transaction/index.ts';
import type { Notified } from './run-observer.ts';
import { columnKey, type Settings } from './worker-options.ts';

interface Loop {
  readonly row: string;
  ranMs: number;
}

export class Loops {
  readonly #clock: Clock;
  readonly #settings: Settings;
  readonly #troubles: Troubles;
  /** The reported cells, by column. */
  readonly #loops = new Map<string, Loop>();

  constructor(clock: Clock, settings: Settings, troubles: Troubles) {
    this.#clock = clock;
    this.#settings = settings;
    this.#troubles = troubles;
  }

  /** A run for the cell has committed. */
  hasRun(cell: Notified): void {
    const { passes, steps } = causeAfter(cell.cause, cell);
    if (steps > 0) return; // The passes are those of another cell.
    const isLoop = passes + 1 >= this.#settings.loopRuns;
    const key = columnKey(cell.table, cell.column);
    const known = this.#loops.get(key);
    if (known === undefined && isLoop) this.#begin(key, cell);
    if (known?.row !== cell.row) return;
    if (isLoop) known.ranMs = this.#clock.monotonicMs();
    else this.#end(key);
  }

  /** Ends the troubles of cells that have not run for long. */
  sweep(): void {
    const untilMs = this.#clock.monotonicMs() - this.#settings.slowMs;
    for (const [key, { ranMs }] of this.#loops) if (ranMs <= untilMs) this.#end(key);
  }

  #begin(key: string, { table, row, column }: Notified): void {
    this.#loops.set(key, { row, ranMs: this.#clock.monotonicMs() });
    const sentence = `the observers of column ${column} of table ${table} have run for row ${row} ${this.#settings.loopRuns} times in a row without a change from outside: each run causes the next one, and if none stops writing, this never ends`;
    this.#troubles.begin(nameOf(key), { kind: 'loop', sentence, table, row, column });
  }

  #end(key: string): void {
    this.#loops.delete(key);
    this.#troubles.end(nameOf(key));
  }
}

function nameOf(key: string): string {
  return `loop of ${key}`;
}
