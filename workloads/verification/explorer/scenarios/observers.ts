/** Observers: several for one change, weak notifications, and names that could be joined. */
import { textOf } from '../../../../engine/base/index.ts';
import type { Work, WorkloadObserver } from '../../invariants/workload.ts';
import { cellOf, type ExplorerScenario, type TaskClient, WORKER, writing } from '../scenario.ts';

/** Copies the column that it observes into another one of the row. */
function copier(name: string, column: string, to: string, weak = false): WorkloadObserver {
  const run = async (work: Work, row: string): Promise<void> => {
    const value = await work.get({ table: 'pages', row, column });
    work.set({ table: 'pages', row, column: to }, `${name}: ${value ? textOf(value) : 'nothing'}`);
  };
  return { name, table: 'pages', column, weak, run };
}

const CONTENT = 'pages/a:content';
const LINKS = 'pages/a:links';

export const TWO_COLUMNS: ExplorerScenario = {
  name: 'two-columns',
  about: 'One transaction changes two observed columns, and each has an observer of its own.',
  tables: { pages: { observedColumns: ['content', 'links'] } },
  initial: { 'pages/a:entry': 'none', 'pages/a:graph': 'none' },
  observers: [copier('indexer', 'content', 'entry'), copier('linker', 'links', 'graph')],
  processes: [
    {
      name: 'crawler',
      tasks: [{ does: 'load a page', run: writing({ [CONTENT]: 'text', [LINKS]: 'b, c' }) }],
    },
    { name: 'worker', tasks: [WORKER] },
  ],
};

export const COLONS: ExplorerScenario = {
  name: 'colons',
  about: 'Observer `a` of column `x:y`, and observer `a:x` of column `y`.',
  tables: { pages: { observedColumns: ['x:y', 'y'] } },
  initial: { 'pages/r:one': 'none', 'pages/r:two': 'none' },
  observers: [copier('a', 'x:y', 'one'), copier('a:x', 'y', 'two')],
  processes: [
    {
      name: 'writer',
      tasks: [
        { does: 'change column x:y', run: writing({ 'pages/r:x:y': 'first' }) },
        { does: 'change column y', run: writing({ 'pages/r:y': 'second' }) },
      ],
    },
    { name: 'worker', tasks: [WORKER] },
  ],
};

const DOCUMENT = 'pages/a:document';
const DIRTY = 'pages/a:dirty';

async function editAndNotify({ attempt }: TaskClient): Promise<void> {
  await attempt(async (work) => {
    work.set(cellOf(DOCUMENT), 'edited');
    work.notifyWeakly(cellOf(DIRTY));
  });
}

/** Runs for a weak notification see the document as of their snapshot. */
const COUNTER: WorkloadObserver = {
  name: 'counter',
  table: 'pages',
  column: 'dirty',
  weak: true,
  run: async (work, row) => {
    const value = await work.get({ table: 'pages', row, column: 'document' });
    const text = value === undefined ? 'nothing' : textOf(value);
    work.set({ table: 'pages', row, column: 'count' }, `${text.length} letters`);
  },
};

export const WEAK: ExplorerScenario = {
  name: 'weak',
  about: 'A writer edits a document, and notifies its row weakly: an observer counts the letters.',
  tables: { pages: { observedColumns: ['dirty'] } },
  initial: { [DOCUMENT]: 'draft', 'pages/a:count': 'none' },
  observers: [COUNTER],
  processes: [
    { name: 'writer', tasks: [{ does: 'edit, and notify weakly', run: editAndNotify }] },
    { name: 'worker', tasks: [WORKER] },
  ],
};
