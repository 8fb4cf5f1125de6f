/**
 * A page of a crawl, and an observer that makes the title of each into an entry of an index:
 * notifications, acknowledgments, and workers that run.
 */
import { textOf } from '../../../../engine/base/index.ts';
import type { WorkloadObserver } from '../../invariants/workload.ts';
import { type ExplorerScenario, WORKER, writing } from '../scenario.ts';

const PAGE = 'pages/a:content';
const INDEX = 'pages/a:entry';

const INDEXER: WorkloadObserver = {
  name: 'indexer',
  table: 'pages',
  column: 'content',
  weak: false,
  run: async (work, row) => {
    const content = await work.get({ table: 'pages', row, column: 'content' });
    const value = `entry of ${content === undefined ? 'nothing' : textOf(content)}`;
    work.set({ table: 'pages', row, column: 'entry' }, value);
  },
};

export const CRAWL: ExplorerScenario = {
  name: 'crawl',
  about: 'A crawler loads a page twice, and two workers keep its entry in an index up to date.',
  tables: { pages: { observedColumns: ['content'] } },
  initial: { [INDEX]: 'none' },
  observers: [INDEXER],
  processes: [
    {
      name: 'crawler',
      tasks: [
        { does: 'load the page', run: writing({ [PAGE]: 'v1' }) },
        { does: 'load it again', run: writing({ [PAGE]: 'v2' }) },
      ],
    },
    { name: 'worker', tasks: [WORKER] },
    { name: 'other worker', tasks: [WORKER] },
  ],
};
