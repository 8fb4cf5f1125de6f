/**
 * Counts the addresses for which the observer of each stage has committed a run. They are counts
 * of this process, that is, of one load; only the results are those of all loads.
 */
import type { CommittedRun } from '#engine';
import type { LoadStage } from '../search-page/load-status.ts';

/**
 * What has happened to an address once a run of the observer for it has committed, even one that
 * found nothing to do.
 */
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

  /** @param results number of pages that are served */
  counts(results: number): readonly LoadStage[] {
    const between = STAGES.map(([observer, name]) => ({
      name: `${name} in this load`,
      documents: this.#reached.get(observer)?.size ?? 0,
    }));
    const first = { name: 'addresses captured in this load', documents: this.#captured.size };
    const last = { name: 'results of all loads that can be found', documents: results };
    return [first, ...between, last];
  }
}
