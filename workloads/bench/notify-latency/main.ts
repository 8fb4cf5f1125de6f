/**
 * `./run.sh bench:notify-latency`: the delay until another process reacts to a write, and the cost
 * of an idle worker.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStore, type StoreAddress } from '#engine';
import { defaultRunFolder, recordFindings, type Run } from '#results';
import { flag, number, numberList, outputFolder, runCommand, startProgress, text } from '#harness';
import { checkStoreName, provideStore } from '../../harness/stores/index.ts';
import { ENGINE_OPTIONS } from '../../harness/engine-settings.ts';
import { parametersOf } from '../../harness/parameters.ts';
import { COLUMNS, foundIn, targetsOf, writesOf } from './findings.ts';
import { measureNotifications, type NotifyMeasured } from './measure.ts';

const LIMITATIONS = [
  'Oracle, lock service, writer and worker are separate processes, and share the cores of one machine with the storage.',
  'Writes are due at equal intervals by the clock; there is no random choice and no seed.',
];

await runCommand(
  {
    script: 'bench:notify-latency',
    description:
      'Measures the time from a write to the run of its observer, in an open loop with oracle, writer and worker ' +
      'in separate processes, and the cost of the worker while there are no writes.',
    options: {
      store: text({
        description: 'embedded, emulator, or bigtable://project/instance[?appProfile=name]',
        default: 'embedded',
        placeholder: 'store',
      }),
      rates: numberList({
        description: 'rates of writes, measured one after the other',
        default: [2, 20, 200],
        unit: 'per second',
        min: 0.1,
        max: 10_000,
      }),
      seconds: number({
        description: 'measured time per rate',
        default: 15,
        unit: 'seconds',
        min: 0.5,
        max: 3_600,
      }),
      idleSeconds: number({
        description: 'measured time of the idle worker',
        default: 15,
        unit: 'seconds',
        min: 0.5,
        max: 3_600,
      }),
      noFsync: flag({
        description:
          'the embedded store does not wait for the disk, so the result excludes the disk',
      }),
      ...ENGINE_OPTIONS,
      out: outputFolder({
        description: 'new folder for the record, the charts and the report',
        default: () => defaultRunFolder('notify-latency'),
        defaultText: 'results/runs/notify-latency-<UTC time>',
        isNew: true,
      }),
    },
    examples: [
      { command: './run.sh bench:notify-latency', does: 'a minute on the embedded store' },
      {
        command: './run.sh bench:notify-latency --store emulator',
        does: 'the same on the official emulator',
      },
    ],
  },
  async (options, { signal, commandLine }) => {
    const { store: name, noFsync, out, rates, seconds, idleSeconds } = options;
    const { batching, batchDelay, batchRows, batchInFlight, prefetch, scanners } = options;
    const engine = { batching, batchDelay, batchRows, batchInFlight, prefetch, scanners };
    const storeName = checkStoreName(name);
    const folder = await mkdtemp(path.join(tmpdir(), 'notify-latency-'));
    const progress = startProgress({ stream: process.stderr });
    try {
      await using store = await provideStore(storeName, { folder, fsync: !noFsync });
      progress.phase('measuring', rates.length, 'rates');
      let done = 0;
      const onProgress = (): void => progress.update(++done);
      const plan = { store: store.address, rates, seconds, idleSeconds, engine };
      const durability = await durabilityOf(store.address);
      const header = {
        kicker: 'Percolator paper, section 2.4',
        title: 'From a write to the run of its observer',
        experiment: 'notify-latency',
        profile: 'custom',
        commandLine,
        parameters: parametersOf(options),
        seed: 0,
        repeats: 1,
        store: { name, durability },
        limitations: LIMITATIONS,
      } as const;
      let measured: NotifyMeasured | undefined;
      const { run, page } = await recordFindings(out, header, signal, async () => {
        measured = await measureNotifications(plan, signal, onProgress);
        return foundIn(measured, name);
      });
      progress.end();
      const unsafe = noFsync ? ' without fsync' : '';
      console.log(`${name}${unsafe}, ${machine(run)}\n`);
      if (measured !== undefined) console.log(linesOf(measured, name));
      console.log(`\nReport: ${page}`);
    } finally {
      progress.end();
      await rm(folder, { recursive: true, force: true });
    }
  },
);

async function durabilityOf(address: StoreAddress): Promise<string> {
  await using store = await openStore(address);
  return store.manifest.durability;
}

function machine({ record }: Run): string {
  const { cpuModel, cores, nodeVersion } = record.environment;
  return `${cpuModel}, ${cores} cores, Node ${nodeVersion}`;
}

function linesOf(measured: NotifyMeasured, store: string): string {
  const rows = measured.rates.map((rate) => [
    String(rate.perSecond),
    String(writesOf(rate)),
    ...COLUMNS.map(([, of]) => of(rate)?.toFixed(1) ?? '-'),
  ]);
  return [
    'Milliseconds from when a write was due until its observer ran in another process.',
    '',
    table([['writes/s', 'writes', ...COLUMNS.map(([heading]) => heading)], ...rows]),
    '',
    `An idle worker: ${measured.idlePercent.toFixed(2)} % of a core.`,
    '',
    ...targetsOf(measured, store).map(
      ({ target, measured: found, met }) => `${met ? 'Met' : 'NOT met'}: ${target}; ${found}.`,
    ),
  ].join('\n');
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map((row) => row.map((cell, i) => cell.padStart(widths[i] ?? 0)).join('   '))
    .join('\n');
}
