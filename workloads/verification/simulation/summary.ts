/** The results of simulated runs, for people. */
import { notCovered, type Tally } from './index.ts';

export function summaryLines(
  tally: Tally,
  { seconds, jobs }: { readonly seconds: number; readonly jobs: number },
): readonly string[] {
  const { runs, counts, faults, lastedMs, failed } = tally;
  const perSecond = counts.transactions / seconds;
  return [
    `${number(runs)} runs, ${number(counts.transactions)} transactions in ${seconds.toFixed(1)} s: ` +
      `${number(perSecond)} a second with ${jobs} at a time; ${number(lastedMs / 60_000)} minutes of virtual time`,
    `  commits          ${number(counts.commits)}`,
    `  conflicts        ${number(counts.conflicts)}`,
    `  unknown outcomes ${number(counts.unknown)}`,
    `  rolled forward   ${number(counts.rolledForward)} locks of others`,
    `  rolled back      ${number(counts.rolledBack)} locks of others`,
    `  observer runs    ${number(counts.observerRuns)}`,
    `  of which hung    ${number(counts.hung)}`,
    `  parked           ${number(counts.parked)} cells, ${number(counts.replayed)} replayed`,
    `  tables dropped   ${number(counts.tablesDropped)}`,
    `  cells collected  ${number(counts.cellsCollected)}`,
    'Faults met',
    ...Object.entries(faults)
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([fault, count]) => `  ${fault.padEnd(19)}${number(count)}`),
    ...uncoveredLines(notCovered(tally)),
    failed.length === 0
      ? 'No run broke a rule.'
      : `${number(failed.length)} runs broke a rule: seeds ${failed
          .slice(0, 10)
          .map(({ seed, claim }) => `${seed} (${claim})`)
          .join(', ')}`,
  ];
}

function uncoveredLines(faults: readonly string[]): readonly string[] {
  if (faults.length === 0) return [];
  return [`NOT COVERED, because they never happened: ${faults.join(', ')}`];
}

function number(value: number): string {
  return Math.round(value).toLocaleString('en');
}
