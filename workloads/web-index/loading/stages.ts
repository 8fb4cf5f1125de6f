/** Counts the addresses that have reached each stage of the pipeline, as their observers commit. */
import type { CommittedRun } from '#engine';
import type { LoadStage } from '../search-page/load-status.ts';

/** What has happened to an address once the observer has run for it. */
const STAGES: readonly (readonly [observer: string, stage: string])[] = [
  ['document-processor', 'read'],
  ['renderer', 'rendered'],
  ['clustering', 'clustered'],
  ['ranker', 'ranked'],
];

export class Stages {
  readonly #captured = new Set<string>();
  readonly #reached = new Map(STAGES.map(([observer]) => [observer, new Set<string>()]));

  captured(url: string): void {
    this.#captured.add(url);
  }

  /** For `onCommitted` of a worker. */
  readonly committed = ({ observer, cell }: CommittedRun): void => {
    this.#reached.get(observer)?.add(cell.row);
  };

  /** @param results pages that are served */
  counts(results: number): readonly LoadStage[] {
    const between = STAGES.map(([observer, name]) => ({
      name,
      documents: this.#reached.get(observer)?.size ?? 0,
    }));
    const first = { name: 'addresses captured', documents: this.#captured.size };
    return [first, ...between, { name: 'results that can be found', documents: results }];
  }
}
