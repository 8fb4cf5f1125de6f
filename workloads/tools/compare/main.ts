/**
 * `./run.sh compare <a> <b>`: is B better or worse than A, metric by metric?
 *
 * Exit codes: 0 no metric is worse; 1 a metric is worse by more than the threshold; 2 the runs
 * cannot be compared, or no metric has a verdict, and one sentence says why.
 */
import { flag, number, runCommand, text } from '#harness';
import { compareRuns, conclude } from './compare-runs.ts';

const side = (which: string) =>
  text({
    description:
      `${which}: the folder of a run, its run.json, or the name of a run in results/runs or ` +
      'results/reference; several, separated by commas, count as repeats',
  });

const specification = {
  script: 'compare',
  description:
    'Compares two runs of one experiment: for each metric both values, the difference with its ' +
    '95 % confidence interval where there are repeats, and a verdict. A metric is worse if its ' +
    'whole interval, widened for the number of metrics compared, is worse by more than the ' +
    'threshold, and the same if its whole interval is within the threshold. Exit code 0: no metric ' +
    'is worse; 1: at least one is; 2: the runs cannot be compared, or no metric has a verdict.',
  positionals: { a: side('what B is compared with'), b: side('what is judged') },
  options: {
    threshold: number({
      description:
        'how much a metric may differ and still be the same; if two runs of the same code differ ' +
        'by more, which no interval of a single run shows, chance decides the verdicts',
      default: 5,
      min: 0,
      max: 1000,
      unit: '%',
    }),
    anyway: flag({
      description:
        'compare in spite of another machine, profile, store, seed or other parameters, and say so',
    }),
    json: flag({ description: 'print the comparison as JSON' }),
  },
  examples: [
    {
      command: './run.sh compare figure-8 results/runs/micro-20260117T081500Z',
      does: 'Compares a run with the reference of figure 8.',
    },
    {
      command: './run.sh compare old-1,old-2,old-3 new-1,new-2,new-3 --threshold 10',
      does: 'Compares two commits, each with three runs from results/runs.',
    },
  ],
} as const;

await runCommand(specification, async ({ a, b, threshold, anyway, json }) => {
  const more = 'give at least three runs of each side, separated by commas';
  conclude(compareRuns(a, b, { threshold, anyway }), { json, more });
  return Promise.resolve();
});
