/**
 * `./run.sh report <folder>`: rebuilds tables, charts and page of a run from its files alone.
 * `./run.sh report --all`: makes the page of all figures and runs, and those of reference runs.
 */
import path from 'node:path';
import { flag, inputFolder, onlyWith, outputFolder, runCommand, UsageError } from '#harness';
import { buildAll, buildReport, isMeasuredHere, refreshAll, RUNS_FOLDER } from '#results';

const RESULTS_FOLDER = path.dirname(RUNS_FOLDER);

await runCommand(
  {
    script: 'report',
    description:
      'Rebuilds the tables (CSV), the figures (PNG) and report.html of a run from its run.json alone; ' +
      'or, with --all, makes one page of all figures and runs: the claims of the ' +
      'paper, the reference and the latest run of each figure, and an index of all runs. It ' +
      'measures nothing; the same files give the same report, byte for byte.',
    options: {
      all: flag({
        description:
          'make the page of all figures and runs, index.html, and the pages of the reference runs',
      }),
      out: onlyWith(
        { all: ['true'] },
        outputFolder({
          description: 'folder for index.html; pages of runs link to the one in results',
          default: () => path.relative(process.cwd(), RESULTS_FOLDER),
          defaultText: 'results',
        }),
      ),
    },
    positionals: {
      folder: inputFolder({
        description: 'the folder of a run, which holds its run.json; not with --all',
        default: null,
      }),
    },
    examples: [
      {
        command: './run.sh report results/runs/crawl-rate-20260117T081500Z',
        does: 'Rebuilds the report of that run, in its folder.',
      },
      {
        command: './run.sh report --all',
        does: 'Makes results/index.html from results/reference and results/runs.',
      },
    ],
  },
  async ({ folder, all, out }) => {
    if (all === (folder !== null)) {
      throw new UsageError(
        `report must be given the folder of a run or --all, but was given ${all ? 'both' : 'neither'}.`,
      );
    }
    const files = folder === null ? { page: buildAll(out, undefined, 'all') } : buildReport(folder);
    if (folder !== null && isMeasuredHere(folder)) refreshAll();
    process.stdout.write(`${Object.values(files).flat().join('\n')}\n`);
    return Promise.resolve();
  },
);
