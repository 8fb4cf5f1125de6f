/**
 * `./run.sh bench:versions`: does a cell that is rewritten many times become slow to read?
 *
 * Every version of a cell stays until garbage collection. The benchmark reads two cells, one
 * written once and one rewritten many times. Their reads alternate, so that both meet the same
 * disturbances:
 *
 * 1. without a collector: all versions are there;
 * 2. with a collector, which runs while the cell is rewritten the same number of times again, and
 *    during the reads of both.
 *
 * Every value read is checked; if one is wrong there are no numbers. The result is accepted if,
 * with the collector, the median read of the rewritten cell takes at most twice as long.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  type CellAddress,
  createRandom,
  openPercolator,
  type Percolator,
  type Random,
} from '#engine';
import { defaultRunFolder, recordFindings, type Run } from '#results';
import { integer, outputFolder, runCommand, startProgress } from '#harness';
import {
  DATABASE_OPTIONS,
  type DatabaseValues,
  settingsOf,
} from '../../harness/engine-settings.ts';
import { parametersOf } from '../../harness/parameters.ts';
import { type VersionsResult, foundIn, isAccepted, type Outcome, RATIO_MAX } from './findings.ts';
import { readInTurns } from './read-in-turns.ts';

/** Width of the first printed column. */
const LABEL = 24;
const TABLE = 'versions';
const ONCE: CellAddress = { table: TABLE, row: 'written-once', column: 'value' };
const OFTEN: CellAddress = { table: TABLE, row: 'rewritten', column: 'value' };

const specification = {
  script: 'bench:versions',
  description:
    'Measures how much longer it takes to read a cell that was rewritten many times than one that was ' +
    'written once: without garbage collection, and with it.',
  options: {
    versions: integer({
      description: 'number of writes of the rewritten cell',
      default: 10_000,
      min: 1,
      max: 10_000_000,
    }),
    reads: integer({
      description: 'measured reads of each cell',
      default: 20_000,
      min: 10,
      max: 10_000_000,
    }),
    valueBytes: integer({
      description: 'size of a value',
      default: 100,
      min: 1,
      max: 1_048_576,
      unit: 'bytes',
    }),
    messageLifetime: integer({
      description:
        'how long the collector waits before it deletes; in one process no request is in flight for long',
      default: 1_000,
      min: 1,
      max: 3_600_000,
      unit: 'ms',
    }),
    ...DATABASE_OPTIONS,
    seed: integer({
      description: 'the same seed makes the same values and turns',
      default: 1,
      min: 0,
      max: 2 ** 31 - 1,
    }),
    directory: outputFolder({
      description: 'parent of the temporary folder of the database',
      default: tmpdir(),
      defaultText: "the system's folder for temporary files",
    }),
    out: outputFolder({
      description: 'new folder for the record, the chart and the report',
      default: () => defaultRunFolder('versions'),
      defaultText: 'results/runs/versions-<UTC time>',
      isNew: true,
    }),
  },
  ignoredInFiles: ['scanners'], // There are no observers.
  examples: [
    { command: './run.sh bench:versions', does: '10,000 versions, about half a minute' },
    { command: './run.sh bench:versions --versions 100000', does: 'ten times as many' },
  ],
} as const;

interface Settings extends DatabaseValues {
  readonly versions: number;
  readonly reads: number;
  readonly valueBytes: number;
  readonly messageLifetime: number;
  readonly seed: number;
}

await runCommand(specification, async (settings, { signal, commandLine }) => {
  const created = await mkdir(settings.directory, { recursive: true });
  const folder = await mkdtemp(path.join(settings.directory, 'bench-versions-'));
  const header = {
    kicker: 'Percolator paper, section 2',
    title: 'Reading a cell that was rewritten many times',
    experiment: 'versions',
    profile: 'custom',
    commandLine,
    parameters: parametersOf(settings),
    seed: settings.seed,
    repeats: 1,
    store: {
      name: 'embedded',
      durability: 'a commit survives kill -9 of the process, not a power failure (no fsync)',
    },
    limitations: [
      'One reader, one cell of each kind, all in memory: the results show the time of a read alone.',
    ],
  } as const;
  try {
    let found: VersionsResult | undefined;
    const { run, page } = await recordFindings(settings.out, header, signal, async () => {
      // Durability does not matter here, and waiting for the disk is not measured.
      const options = { folder, fsync: false, ...settingsOf(settings) };
      await using percolator = await openPercolator(options);
      found = await measure(percolator, settings, signal);
      return foundIn(found, settings);
    });
    if (found !== undefined) conclude(settings, found, run, page);
  } finally {
    await rm(created ?? folder, { recursive: true, force: true });
  }
});

/** @throws if the run is interrupted */
async function measure(
  percolator: Percolator,
  settings: Settings,
  signal: AbortSignal,
): Promise<VersionsResult> {
  const progress = startProgress();
  const random = createRandom(settings.seed);
  const { versions, reads, messageLifetime: messageLifetimeMs } = settings;
  const rewrite = async (): Promise<void> => {
    progress.phase('rewriting the cell', versions, 'versions');
    for (let i = 1; i <= versions && !signal.aborted; i++) {
      await write(percolator, OFTEN, valueOf(random, settings));
      if (i % 100 === 0) progress.update(i);
    }
  };
  const read = async (): Promise<Outcome> => {
    progress.phase('reading both cells in turns', reads, 'reads');
    const onProgress = (done: number): void => progress.update(done);
    const cells = { once: ONCE, often: OFTEN };
    const times = await readInTurns(percolator, cells, { reads, random, signal, onProgress });
    return { versions: await versionsOf(percolator), times };
  };
  try {
    await percolator.createTable(TABLE);
    await write(percolator, ONCE, valueOf(random, settings));
    await rewrite();
    const without = await read();

    await using collector = percolator.startCollector({ messageLifetimeMs });
    await rewrite();
    const enough = collector.counters.cycles + 2; // One may have begun earlier.
    progress.phase('waiting for the collector', 1, 'cycles');
    while (collector.counters.cycles < enough && !signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const collected = await read();
    signal.throwIfAborted();
    return { without, collected };
  } finally {
    progress.end();
  }
}

async function write(percolator: Percolator, cell: CellAddress, value: Uint8Array): Promise<void> {
  await percolator.transact(async (transaction) => {
    transaction.set(cell, value);
  });
}

function valueOf(random: Random, { valueBytes }: Settings): Uint8Array {
  return Buffer.from(Array.from({ length: valueBytes }, () => random.integer(0, 255)));
}

async function versionsOf({ store }: Percolator): Promise<number> {
  const row = await store.readRow(TABLE, OFTEN.row, [{ family: 'write' }]);
  return row?.cells.length ?? 0;
}

function conclude(settings: Settings, found: VersionsResult, run: Run, page: string): void {
  const { cpuModel, cores, memoryBytes, nodeVersion } = run.record.environment;
  const memory = `${Math.round(memoryBytes / 2 ** 30)} GiB`;
  const lines = [
    '',
    `${count(settings.versions)} versions of ${count(settings.valueBytes)} bytes, seed ${settings.seed}, ` +
      `${count(settings.reads)} reads of each cell, taking turns; embedded storage`,
    '',
    `${''.padEnd(LABEL)}  versions   written once    rewritten   ratio of the medians`,
    line('without a collector', found.without),
    line('with a running collector', found.collected),
    '',
    `${cpuModel}, ${cores} cores, ${memory}, Node ${nodeVersion}`,
    '',
    isAccepted(found)
      ? `Accepted: with a collector, at most ${RATIO_MAX} times as long.`
      : `NOT accepted: with a collector, more than ${RATIO_MAX} times as long.`,
    '',
    `Report: ${page}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  if (!isAccepted(found)) process.exitCode = 1;
}

function line(label: string, { versions, times }: Outcome): string {
  const micros = (ms: number): string => `${(ms * 1_000).toFixed(1)} µs`.padStart(11);
  const { onceMs, oftenMs, ratio } = times;
  return `${label.padEnd(LABEL)}  ${count(versions).padStart(8)}    ${micros(onceMs)}  ${micros(oftenMs)}   ${ratio.toFixed(2)}`;
}

function count(value: number): string {
  return value.toLocaleString('en');
}
