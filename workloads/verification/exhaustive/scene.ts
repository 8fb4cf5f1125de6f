/** A scenario before any process has acted: rows, processes, and the rules they follow. */
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import { committedCell, notifyTable } from '../../../engine/transaction/index.ts';
import { addressOf, type HistoricTransaction } from '../judges/history.ts';
import type { EndingRules } from './ending.ts';
import { LocalStates } from './local-states.ts';
import { MessageBook } from './messages.ts';
import { RowBook, type RowState } from './rows.ts';
import { type Budget, cellsOf, type Scenario, type Suspicion } from './scenario.ts';
import type { WorldState } from './world-state.ts';

/** The transaction that wrote the initial cells. */
const PAST = { startTimestamp: 1, commitTimestamp: 2 } as const;
const FIRST: Timestamp = PAST.commitTimestamp + 1;

export async function setTheScene(
  scenario: Scenario,
  budget: Budget,
  suspicion: Suspicion,
): Promise<{ readonly start: WorldState; readonly rules: EndingRules }> {
  const { observed = [], processes } = scenario;
  const messages = new MessageBook();
  const rows = new RowBook(messages);
  const cells = cellsOf(scenario);
  const lastReader = {
    name: 'the last reader',
    transactions: [[{ do: 'getMany', cells }]],
  } as const;
  const locals = new LocalStates({
    messages,
    scripts: [...processes, lastReader],
    suspicion,
    observed,
    hasCopies: budget.copies > 0,
  });
  const rowNames = rowNamesOf(cells, observed);
  const states = await Promise.all(processes.map((_, i) => locals.start(i)));
  const start: WorldState = {
    rows: rowNames.map((rowName) => rowBefore(rows, rowName, scenario)),
    processes: states,
    nextTimestamp: FIRST,
    stray: [],
    dead: 0,
    left: budget,
  };
  const rules: EndingRules = {
    rows,
    messages,
    locals,
    rowNames,
    suspicion,
    lastReader: await locals.start(processes.length),
    past: scenario.initial.length === 0 ? [] : [pastOf(scenario)],
    observed,
    budget,
  };
  return { start, rules };
}

/**
 * The rows of the cells, each in every table of the cells: an engine that mistakes the table of a
 * primary (P15) must find a row there. And the rows of their notifications.
 */
function rowNamesOf(cells: readonly string[], observed: readonly string[]): readonly string[] {
  const addresses = cells.map(addressOf);
  const rowNames = addresses.flatMap(({ table }) => addresses.map(({ row }) => `${table}/${row}`));
  const marked = addresses.filter(({ column }) => observed.includes(column));
  const marks = marked.map(({ table, row }) => `${notifyTable(table)}/${row}`);
  return [...new Set([...rowNames, ...marks])];
}

function rowBefore(rows: RowBook, rowName: string, { initial }: Scenario): RowState {
  const mutations = initial.map(addressOf).flatMap(({ table, row, column }) => {
    const isThere = `${table}/${row}` === rowName;
    return isThere ? committedCell(column, Buffer.from(valueOf(column)), PAST) : [];
  });
  return rows.written(rowName, mutations);
}

function pastOf({ initial }: Scenario): HistoricTransaction {
  return {
    process: 'the past',
    ...PAST,
    outcome: 'committed',
    beganAt: 0,
    reads: [],
    writes: initial.map((cell) => ({ cell, value: valueOf(addressOf(cell).column) })),
    locks: [],
  };
}

function valueOf(column: string): string {
  return `${column} of the past`;
}
