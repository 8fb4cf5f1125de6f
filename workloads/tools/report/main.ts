/**
 * `npm run report -- <folder>`: makes tables, charts and page of a run again, from its files alone.
 */
import { runCommand } from '#harness';
import { inputFolder } from '#harness';
import { buildReport } from '#results';

await runCommand(
  {
    name: 'npm run report --',
    description:
      'Makes the tables (CSV), the figures (PNG) and report.html of a run again, ' +
      'from its run.json and histograms alone. Nothing is measured; the same files give the same ' +
      'report to the byte.',
    options: {},
    positionals: {
      folder: inputFolder({ description: 'the folder of a run, which holds its run.json' }),
    },
    examples: [
      {
        command: 'npm run report -- results/runs/crawl-rate-20260117T081500Z',
        does: 'Rebuilds the report of that run, in its folder.',
      },
    ],
  },
  async ({ folder }) => {
    const files = buildReport(folder);
    for (const file of [...files.tables, ...files.figures, files.page]) {
      process.stdout.write(`${file}\n`);
    }
    return Promise.resolve();
  },
);
