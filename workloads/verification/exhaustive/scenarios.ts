/**
 * The scenarios: which process does what to which cells, and how much may go wrong meanwhile.
 *
 * Most are two transactions over up to three cells, by the writers A and B, and a reader that
 * resolves the locks it meets. The primary of A is in the row `p`, except in `touch`, where A locks
 * the cell X first.
 */
import type { PlannedOperation } from '../simulation/plan.ts';

export interface Scenario {
  /** In lower case with hyphens. */
  readonly name: string;
  /** Its subject, in one sentence. */
  readonly about: string;
  /** Committed before the story begins, as `table/row:column`; everything else is empty. */
  readonly initial: readonly string[];
  readonly processes: readonly ScriptedProcess[];
  /** Columns of any table that leave notifications. Default: none. */
  readonly observed?: readonly string[] | undefined;
  /** Millions of states without any fault; eight times as many with a duplicate. */
  readonly isLarge?: boolean | undefined;
}

export interface ScriptedProcess {
  /** For stories; also its liveness token. */
  readonly name: string;
  /** Run one after the other, each with a commit at its end; those that only read are snapshots. */
  readonly transactions: readonly (readonly PlannedOperation[])[];
  /** How many times it sends a commit before it calls the outcome unknown. Default 2. */
  readonly inDoubtAttemptsMax?: number | undefined;
}

/** The processes that a process presumes dead when it meets a lock. */
export type Suspicion =
  /** All others, at once: nothing may depend on liveness being right (P26). */
  | 'all'
  /** Only processes that crashed: readers wait for the living. */
  | 'crashed';

/** How often each thing may happen. */
export interface Budget {
  /** Processes that die. */
  readonly crashes: number;
  /** Mutations of which a copy arrives, at any time. */
  readonly copies: number;
  /** Mutations whose sender is told `STORE_IN_DOUBT`; they arrive at any time, or never. */
  readonly lostAnswers: number;
}

/** Every cell that the scenario names, in the order of mention. */
export function cellsOf({ initial, processes }: Scenario): readonly string[] {
  const operations = processes.flatMap(({ transactions }) => transactions.flat());
  return [...new Set([...initial, ...operations.flatMap(cellsOfOperation)])];
}

function cellsOfOperation(operation: PlannedOperation): readonly string[] {
  if ('cell' in operation) return [operation.cell];
  return 'cells' in operation ? operation.cells : [];
}

const P = 't/p:c';
const X = 't/x:c';
const Y = 't/y:c';
/** A second cell in the row of P. */
const P2 = 't/p:d';
const ELSEWHERE = 'u/x:c';
/** An observed cell in the row of P. */
const SEEN = 't/p:seen';

function writer(name: string, ...operations: readonly PlannedOperation[]): ScriptedProcess {
  return { name, transactions: [operations] };
}

function set(...cells: readonly string[]): readonly PlannedOperation[] {
  return cells.map((cell) => ({ do: 'set', cell }));
}

/** Reads the cells one after the other, in one snapshot. */
function reader(...cells: readonly string[]): ScriptedProcess {
  return writer('reader', ...cells.map((cell) => ({ do: 'getMany', cells: [cell] }) as const));
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'one-cell',
    about: 'Both write the same cell.',
    initial: [P],
    processes: [writer('A', ...set(P)), writer('B', ...set(P)), reader(P)],
  },
  {
    name: 'lost-update',
    about: 'Both read a cell and write it: one must fail, or have seen the other.',
    initial: [P],
    processes: [
      writer('A', { do: 'get', cell: P }, ...set(P)),
      writer('B', { do: 'append', cell: P }),
      reader(P),
    ],
  },
  {
    name: 'delete',
    about: 'One deletes the cell that the other writes.',
    initial: [P, X],
    processes: [
      writer('A', { do: 'delete', cell: P }, ...set(X)),
      writer('B', ...set(P)),
      reader(X, P),
    ],
  },
  {
    name: 'touch',
    about: 'Each locks the cell that the other writes, so that there is no write skew.',
    initial: [P, X],
    processes: [
      writer('A', { do: 'lock', cell: X }, ...set(P)),
      writer('B', { do: 'lock', cell: P }, ...set(X)),
      reader(P, X),
    ],
  },
  {
    name: 'disjoint',
    about: 'The two transactions have nothing in common except a reader of both cells.',
    initial: [P, X],
    processes: [writer('A', ...set(P)), writer('B', ...set(X)), reader(P, X)],
  },
  {
    name: 'one-row',
    about: 'The cells are in one row: the second one commits with the primary.',
    initial: [P, P2],
    processes: [writer('A', ...set(P, P2)), writer('B', ...set(P2)), reader(P2, P)],
  },
  {
    name: 'same-primary',
    about: 'Two rows, the same primary.',
    initial: [P, X],
    processes: [writer('A', ...set(P, X)), writer('B', ...set(P, X)), reader(X, P)],
  },
  {
    name: 'crossed',
    about: 'Two rows; the primary of each is the secondary of the other.',
    initial: [P, X],
    processes: [writer('A', ...set(P, X)), writer('B', ...set(X, P)), reader(X, P)],
  },
  {
    name: 'secondary-only',
    about: 'One writes only a secondary of the other.',
    initial: [P, X],
    processes: [writer('A', ...set(P, X)), writer('B', ...set(X)), reader(X, P)],
  },
  {
    name: 'chain',
    about: 'Three rows; the primary of one is the secondary of the other.',
    initial: [P, X, Y],
    processes: [writer('A', ...set(P, X)), writer('B', ...set(X, Y)), reader(Y, X, P)],
  },
  {
    name: 'row-and-secondary',
    about: 'Three cells in two rows.',
    initial: [P, P2, X],
    processes: [writer('A', ...set(P, P2, X)), writer('B', ...set(X, P2)), reader(X, P2)],
  },
  {
    name: 'three-and-one',
    about: 'One writes three rows, the other only the last of them.',
    initial: [P, X, Y],
    processes: [writer('A', ...set(P, X, Y)), writer('B', ...set(Y)), reader(Y, X, P)],
  },
  {
    name: 'three',
    about: 'Both write the same three rows.',
    isLarge: true,
    initial: [P, X, Y],
    processes: [writer('A', ...set(P, X, Y)), writer('B', ...set(P, X, Y)), reader(Y, X, P)],
  },
  {
    name: 'three-crossed',
    about: 'Both write the same three rows, in opposite order.',
    isLarge: true,
    initial: [P, X, Y],
    processes: [writer('A', ...set(P, X, Y)), writer('B', ...set(Y, X, P)), reader(X, Y, P)],
  },
  {
    name: 'again',
    about: 'A begins a second transaction after its first, whatever the outcome of the first.',
    initial: [P],
    processes: [
      { name: 'A', transactions: [set(P), [{ do: 'append', cell: P }]] },
      writer('B', ...set(P)),
    ],
  },
  {
    name: 'two-resolvers',
    about: 'One transaction, and two readers that resolve its locks from different ends.',
    initial: [P, X],
    processes: [writer('A', ...set(P, X)), reader(X, P), { ...reader(P, X), name: 'other reader' }],
  },
  {
    name: 'two-tables',
    about: 'The secondary is not in the table of the primary.',
    initial: [P, ELSEWHERE],
    processes: [
      writer('A', ...set(P, ELSEWHERE)),
      writer('B', ...set(ELSEWHERE)),
      reader(ELSEWHERE, P),
    ],
  },
  {
    name: 'observed',
    about: 'A column that leaves notifications: no change may be committed without one.',
    initial: [],
    processes: [writer('A', ...set(SEEN)), writer('B', ...set(SEEN, X)), reader(SEEN)],
    observed: ['seen'],
  },
  {
    name: 'unknown',
    about: 'A looks once after a lost answer; if that decides nothing, A asks for the outcome.',
    initial: [P, X],
    processes: [
      { ...writer('A', ...set(P, X)), inDoubtAttemptsMax: 1 },
      writer('B', ...set(P)),
      reader(X, P),
    ],
  },
];
