/** The tests of Hermitage (engine/testing/hermitage.ts), with a process for each transaction. */
import { textOf } from '../../../../engine/base/index.ts';
import type { Work } from '../../invariants/workload.ts';
import { cellOf, type ExplorerScenario, type ExplorerTask, writing } from '../scenario.ts';

const ONE = 'rows/1:value';
const TWO = 'rows/2:value';

type Body = (work: Work, tell: (sentence: string) => void) => Promise<void>;

function task(does: string, body: Body): ExplorerTask {
  return { does, run: ({ attempt, tell }) => attempt((work) => body(work, tell)) };
}

const READER = {
  name: 'T3',
  tasks: [{ does: 'read both rows', run: ({ read }) => read(ONE, TWO) } satisfies ExplorerTask],
};

function hermitage(
  name: string,
  about: string,
  [first, second]: readonly [ExplorerTask, ExplorerTask],
): ExplorerScenario {
  return {
    name,
    about,
    tables: { rows: {} },
    initial: { [ONE]: '10', [TWO]: '20' },
    processes: [{ name: 'T1', tasks: [first] }, { name: 'T2', tasks: [second] }, READER],
  };
}

/** A predicate read: the rows with this value. */
async function find(
  work: Work,
  value: string,
  tell: (sentence: string) => void,
): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { row, values } of work.scan({ table: 'rows', columns: ['value'] })) {
    const one = values.get('value');
    if (one !== undefined && textOf(one) === value) found.push(row);
  }
  tell(`finds ${value} in ${found.length === 0 ? 'no row' : `row ${found.join(' and ')}`}`);
  return found;
}

async function textIn(work: Work, cell: string): Promise<string> {
  const value = await work.get(cellOf(cell));
  return value === undefined ? 'nothing' : textOf(value);
}

const TWO_WRITERS = hermitage('two-writers', 'Two transactions write the same two rows: G0, OTV.', [
  { does: 'set row 1 to 11, row 2 to 21', run: writing({ [ONE]: '11', [TWO]: '21' }) },
  { does: 'set row 1 to 12, row 2 to 22', run: writing({ [ONE]: '12', [TWO]: '22' }) },
]);

const INTERMEDIATE = hermitage('intermediate', 'A transaction changes its mind: G1b.', [
  task('set row 1 to 101, then to 11', async (work) => {
    work.set(cellOf(ONE), '101');
    await work.get(cellOf(TWO));
    work.set(cellOf(ONE), '11');
  }),
  task('read row 1 twice', async (work, tell) => {
    tell(`reads row 1: ${await textIn(work, ONE)}`);
    tell(`reads row 1 again: ${await textIn(work, ONE)}`);
  }),
]);

const CIRCLE = hermitage('circle', 'Each writes one row and reads that of the other: G1c.', [
  task('set row 1 to 11, read row 2', async (work, tell) => {
    work.set(cellOf(ONE), '11');
    tell(`reads row 2: ${await textIn(work, TWO)}`);
  }),
  task('set row 2 to 22, read row 1', async (work, tell) => {
    work.set(cellOf(TWO), '22');
    tell(`reads row 1: ${await textIn(work, ONE)}`);
  }),
]);

const PREDICATE = hermitage('predicate', 'One looks twice for rows, another adds one: PMP.', [
  task('look twice for rows with 30', async (work, tell) => {
    await find(work, '30', tell);
    await find(work, '30', tell);
  }),
  { does: 'add row 3, with 30', run: writing({ 'rows/3:value': '30' }) },
]);

const PREDICATE_WRITE = hermitage(
  'predicate-write',
  'One changes all rows, another deletes those with a value: PMP.',
  [
    task('add 10 to rows 1 and 2', async (work) => {
      for (const cell of [ONE, TWO]) {
        work.set(cellOf(cell), String(Number(await textIn(work, cell)) + 10));
      }
    }),
    task('delete the rows with 20', async (work, tell) => {
      for (const row of await find(work, '20', tell)) work.delete(cellOf(`rows/${row}:value`));
    }),
  ],
);

/** @param locks whether each locks row 0, which stands for all rows */
function addingIfNone(name: string, about: string, locks: boolean): ExplorerScenario {
  const adding = (row: string): ExplorerTask =>
    task(`add row ${row} with 30, if no row has it`, async (work, tell) => {
      if (locks) await work.lock(cellOf('rows/0:value'));
      const found = await find(work, '30', tell);
      if (found.length === 0) work.set(cellOf(`rows/${row}:value`), '30');
    });
  return hermitage(name, about, [adding('3'), adding('4')]);
}

export const HERMITAGE_SCENARIOS: readonly ExplorerScenario[] = [
  TWO_WRITERS,
  INTERMEDIATE,
  CIRCLE,
  PREDICATE,
  PREDICATE_WRITE,
  addingIfNone('predicate-skew', 'Two add a row, because neither finds one: G2.', false),
  addingIfNone('locked-predicate', 'The same, but each locks a row that stands for all.', true),
];
