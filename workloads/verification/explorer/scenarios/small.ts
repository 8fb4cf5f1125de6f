/**
 * The scenarios of the exhaustive search (exhaustive/scenarios.ts), so that its counterexamples can
 * be stepped through. Each process runs its script as one task.
 */
import { assert, textOf } from '../../../../engine/base/index.ts';
import {
  cellsOf,
  type Scenario,
  SCENARIOS as SEARCHED,
  type ScriptedProcess,
} from '../../exhaustive/scenarios.ts';
import type { Work, WorkloadObserver } from '../../invariants/workload.ts';
import { cellOf, type ExplorerActor, type ExplorerScenario } from '../scenario.ts';

/** What a script may do. */
type ScriptedOperation = ScriptedProcess['transactions'][number][number];

/** So short that a reader looks at a living owner's lock twice, as in the exhaustive search. */
const LOCK_WAIT_MS_MAX = 0.01;

/** Its name begins with `exhaust-`: some of the search are those of others here. */
export function smallScenario(searched: Scenario): ExplorerScenario {
  const { name, about, initial, processes, observed = [] } = searched;
  const tables = new Set(cellsOf(searched).map((cell) => cellOf(cell).table));
  const values = initial.map((cell) => [cell, `${cellOf(cell).column} of the past`] as const);
  return {
    name: `exhaust-${name}`,
    about,
    tables: Object.fromEntries([...tables].map((table) => [table, { observedColumns: observed }])),
    initial: Object.fromEntries(values),
    observers: [...tables].flatMap((table) => observed.map((column) => idle(table, column))),
    processes: processes.map(actorOf),
    lockWaitMsMax: LOCK_WAIT_MS_MAX,
    inDoubtAttemptsMax: Math.min(...processes.map((one) => one.inDoubtAttemptsMax ?? 2)),
  };
}

/** The last worker must find its notifications; what it would do then does not matter. */
function idle(table: string, column: string): WorkloadObserver {
  return { name: 'idle', table, column, weak: false, run: async () => {} };
}

export const SMALL: readonly ExplorerScenario[] = SEARCHED.map(smallScenario);

function actorOf({ name, transactions }: ScriptedProcess): ExplorerActor {
  const does = transactions
    .map((operations) => operations.map(describe).join(', '))
    .join('; then ');
  const run: ExplorerActor['tasks'][number]['run'] = async ({ attempt, read }) => {
    for (const [i, operations] of transactions.entries()) {
      const cells = operations.flatMap((one) => (one.do === 'getMany' ? one.cells : []));
      if (operations.every((one) => one.do === 'getMany')) await read(...cells);
      else await attempt((work) => perform(work, operations, `${name} ${i + 1}`));
    }
  };
  return { name, tasks: [{ does, run }] };
}

/** @param value what it writes: another one for each transaction */
async function perform(
  work: Work,
  operations: readonly ScriptedOperation[],
  value: string,
): Promise<void> {
  for (const operation of operations) {
    assert('cell' in operation, 'a script that writes names single cells');
    const cell = cellOf(operation.cell);
    if (operation.do === 'get') await work.get(cell);
    else if (operation.do === 'set') work.set(cell, value);
    else if (operation.do === 'delete') work.delete(cell);
    else if (operation.do === 'lock') await work.lock(cell);
    else if (operation.do === 'append') {
      const before = await work.get(cell);
      work.set(cell, before === undefined ? value : `${textOf(before)}, ${value}`);
    } else throw new RangeError(`a script does not ${operation.do}`);
  }
}

function describe(operation: ScriptedOperation): string {
  if ('cells' in operation) return `read ${operation.cells.join(' and ')}`;
  assert('cell' in operation, 'a script names its cells');
  return `${{ get: 'read' }[operation.do as string] ?? operation.do} ${operation.cell}`;
}
