/** `npm run bench:notify-latency`: how soon another process hears of a write, and what listening costs. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  captureEnvironment,
  flag,
  number,
  numberList,
  percentileMs,
  runCommand,
  startProgress,
  text,
} from '#results';
import { checkStoreName, provideStore } from '../stores/index.ts';
import { measureNotifications, type NotifyMeasured } from './measure.ts';

/** The issue's: milliseconds of the median, from a write to the run of its observer. */
const TARGET_MS = { embedded: 10, elsewhere: 50 } as const;
/** An idle worker, in percent of a core. */
const TARGET_IDLE_PERCENT = 1;

await runCommand(
  {
    name: 'npm run bench:notify-latency --',
    description:
      'Measures the time from a write to the run of its observer, with oracle, writer and worker in a process each, ' +
      'open loop, and what the worker costs while nobody writes.',
    options: {
      store: text({
        description: 'embedded, emulator, or bigtable://project/instance[?appProfile=name]',
        default: 'embedded',
        placeholder: 'store',
      }),
      rates: numberList({
        description: 'writes to measure with, one rate after the other',
        default: [2, 20, 200],
        unit: 'per second',
        max: 10_000,
      }),
      seconds: number({
        description: 'how long each rate is measured',
        default: 15,
        unit: 'seconds',
        min: 0.5,
        max: 3_600,
      }),
      idleSeconds: number({
        description: 'how long the idle worker is measured',
        default: 15,
        unit: 'seconds',
        min: 0.5,
        max: 3_600,
      }),
      noFsync: flag({
        description: 'the embedded store does not wait for the disk: what is left is not the disk',
      }),
    },
    examples: [
      { command: 'npm run bench:notify-latency', does: 'a minute on the embedded store' },
      {
        command: 'npm run bench:notify-latency -- --store emulator',
        does: 'the same on the official emulator',
      },
    ],
  },
  async ({ store: name, noFsync, ...sizes }, { signal }) => {
    const storeName = checkStoreName(name);
    const folder = await mkdtemp(path.join(tmpdir(), 'notify-latency-'));
    const progress = startProgress({ stream: process.stderr });
    try {
      await using store = await provideStore(storeName, { folder, fsync: !noFsync });
      progress.phase('measuring', sizes.rates.length, 'rates');
      let done = 0;
      const measured = await measureNotifications({ ...sizes, store: store.address }, signal, () =>
        progress.update(++done),
      );
      progress.end();
      const durability = noFsync ? 'without fsync' : '';
      console.log(`${[name, durability].join(' ').trim()}, ${machine(folder)}\n`);
      console.log(
        linesOf(measured, name === 'embedded' ? TARGET_MS.embedded : TARGET_MS.elsewhere),
      );
    } finally {
      progress.end();
      await rm(folder, { recursive: true, force: true });
    }
  },
);

function machine(folder: string): string {
  const { cpuModel, cores, nodeVersion } = captureEnvironment(folder);
  return `${cpuModel}, ${cores} cores, Node ${nodeVersion}`;
}

function linesOf({ rates, idlePercent }: NotifyMeasured, targetMs: number): string {
  const rows = rates.map(({ perSecond, fromDue, fromCommit, commit, lagP99Ms }) => [
    String(perSecond),
    ...[50, 90, 99, 100].map((percentile) => percentileMs(fromDue, percentile).toFixed(1)),
    percentileMs(commit, 50).toFixed(1),
    percentileMs(fromCommit, 50).toFixed(1),
    lagP99Ms.toFixed(1),
  ]);
  const medians = rates.map(({ fromDue }) => percentileMs(fromDue, 50));
  const worst = Math.max(...medians);
  return [
    'Milliseconds from when a write was due until its observer ran in another process.',
    '',
    table([
      ['writes/s', 'median', 'p90', 'p99', 'max', 'commit median', 'run after it', 'lag p99'],
      ...rows,
    ]),
    '',
    `An idle worker: ${idlePercent.toFixed(2)} % of a core.`,
    '',
    `${worst <= targetMs ? 'Met' : 'NOT met'}: a median of at most ${targetMs} ms at every rate; the largest is ${worst.toFixed(1)} ms.`,
    `${idlePercent < TARGET_IDLE_PERCENT ? 'Met' : 'NOT met'}: less than ${TARGET_IDLE_PERCENT} % of a core while idle.`,
  ].join('\n');
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map((row) => row.map((cell, i) => cell.padStart(widths[i] ?? 0)).join('   '))
    .join('\n');
}
