/** `./run.sh report <folder>`: rebuilds tables, charts and page of a run from its files alone. */
import { runCommand } from '#harness';
import { inputFolder } from '#harness';
import { buildReport } from '#results';

await runCommand(
  {
    script: 'report',
    description:
      'Rebuilds the tables (CSV), the figures (PNG) and report.html of a run ' +
      'from its run.json and histograms alone. It measures nothing; the same files give the same ' +
      'report, byte for byte.',
    options: {},
    positionals: {
      folder: inputFolder({ description: 'the folder of a run, which holds its run.json' }),
    },
    examples: [
      {
        command: './run.sh report results/runs/crawl-rate-20260117T081500Z',
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
