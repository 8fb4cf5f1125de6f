/**
 * For tests: a script that shows numbers until a file appears, in a process of its own and in one
 * that it starts, and then has findings. `--go` is the file.
 */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { live, runExperiment, text } from '#harness';
import { column, line, resultTable, series } from '#results';
import { Crew } from '../processes/index.ts';
import { LiveTimes } from './live-times.ts';

const SIZE = { rows: 3 };

await runExperiment(
  {
    script: 'bench:oracle',
    name: 'watched',
    subject: { kicker: 'A test', title: 'A run that is watched' },
    description: 'For tests.',
    sizes: { smoke: SIZE, quick: SIZE, standard: SIZE, full: SIZE },
    options: { go: text({ description: 'the file that ends the run', default: 'none' }) },
    examples: [],
    plan: () => ({
      about: 'three rows',
      seconds: 5,
      store: { name: 'none', durability: 'Nothing is kept.' },
      limitations: ['It measures nothing.'],
    }),
  },
  async ({ go }, { keep, progress, signal }) => {
    progress.phase('before the middle', 0, 'things');
    let done = 0;
    const times = new LiveTimes();
    using _ = live.show([
      { panel: 'throughput', series: 'things done', rate: () => done },
      { panel: 'throughput', series: 'asked for', level: () => 100, isTarget: true },
      { panel: 'latency', series: 'a thing', times },
    ]);
    await using crew = new Crew(signal);
    const program = new URL('watched-process.fixture.ts', import.meta.url);
    await crew.start({ name: 'the child', program, options: {} });
    keep(found(1));
    live.event('the middle');
    while (!existsSync(go)) {
      done += 10;
      times.record(2_000);
      await sleep(20, undefined, { signal });
    }
    await crew.stop();
    return found(3);
  },
);

function found(rows: number) {
  const all = Array.from({ length: rows }, (_, i) => i + 1);
  return {
    headline: `${rows} rows were found.`,
    check: { passed: true, detail: 'all are there' },
    tables: [
      resultTable({ name: 'rows', title: 'Rows', caption: '' }, all, [column('row', (row) => row)]),
    ],
    charts: [
      {
        name: 'rows',
        title: 'Rows',
        caption: '',
        x: { title: 'row', scale: 'linear', ticks: [] } as const,
        y: { title: 'row', scale: 'linear', ticks: [] } as const,
        series: series(all, (x) => ({ x }), [line('rows', 'percolator', (row) => row)]),
      },
    ],
    targets: [],
  };
}
