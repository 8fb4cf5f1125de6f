/**
 * The names of a run. Plans use simple names for cells, `t/a:c`; the seed decides their names in
 * the database: the same, or names that an adversary could choose to break an engine.
 *
 * Awkward names are well-formed Unicode, and nothing else is promised of them. They contain NUL,
 * colons, slashes, percent signs and characters beyond 16 bits, and some of them become one string
 * when a separator joins them:
 *
 *     rows and columns        (`a\0b`, `c`) and (`a`, `b\0c`)
 *     observers and columns   `a` on `x:y` and `a:x` on `y`
 */
import { createRandom } from '../../../engine/base/index.ts';
import type { CellAddress } from '../../../engine/transaction/index.ts';
import { addressOf, type HistoricCell, historicCell } from '../judges/history.ts';

export interface Names {
  table(name: string): string;
  column(name: string): string;
  observer(name: string): string;
  /** The address of a cell of the plan. */
  address(cell: string): CellAddress;
  /** The name of a cell of the plan in histories. */
  historic(cell: string): HistoricCell;
}

export const PLAIN: Names = namesOf({ tables: {}, rows: {}, columns: {}, observers: {} });

/** The translations of plain names; other names stay. */
interface Translation {
  readonly tables: Readonly<Record<string, string>>;
  readonly rows: Readonly<Record<string, string>>;
  readonly columns: Readonly<Record<string, string>>;
  readonly observers: Readonly<Record<string, string>>;
}

const SEPARATORS = ['\0', '\0', ':', '/', '%', '\u{ffff}'];
const TAILS = ['', ' ', '\0', '%3a', '%00', '"', '\\', 'é', 'e\u{301}', '\u{ffff}', '\u{1f9d0}'];

export function awkwardNames(seed: number): Names {
  const random = createRandom(seed).fork('names');
  const between = random.pick(SEPARATORS);
  const inside = random.pick([':', ':', between]);
  const tail = (): string => random.pick(TAILS);
  return namesOf({
    tables: { u: 't.u' },
    rows: {
      a: `a${between}b`,
      b: 'a',
      c: `c${tail()}`,
      d: `${tail()}d`,
      e: `d${between}`,
      l: `${between}${tail()}`,
    },
    columns: {
      c: 'c',
      d: `b${between}c`,
      seen: `x${inside}y`,
      also: 'y',
      copy: `copy${tail()}`,
      list: `${tail()}list`,
      count: `${between}c`,
    },
    observers: { copier: 'a', watcher: `a${inside}x`, counter: `${between}${tail()}` },
  });
}

function namesOf({ tables, rows, columns, observers }: Translation): Names {
  const cells = new Map<string, { readonly address: CellAddress; readonly name: HistoricCell }>();
  const known = (cell: string): { readonly address: CellAddress; readonly name: HistoricCell } => {
    const before = cells.get(cell);
    if (before !== undefined) return before;
    const { table, row, column } = addressOf(cell);
    const address = {
      table: tables[table] ?? table,
      row: rows[row] ?? row,
      column: columns[column] ?? column,
    };
    const one = { address, name: historicCell(address) };
    cells.set(cell, one);
    return one;
  };
  return {
    table: (name) => tables[name] ?? name,
    column: (name) => columns[name] ?? name,
    observer: (name) => observers[name] ?? name,
    address: (cell) => known(cell).address,
    historic: (cell) => known(cell).name,
  };
}
