/**
 * `npm run bench:versions`: does a cell that is rewritten again and again get slow to read?
 *
 * Every version of a cell stays until it is collected. Two cells are read, one written once, one rewritten
 * many times; their reads take turns, so that both meet the same disturbances:
 *
 * 1. without a collector: all versions are there;
 * 2. with a collector at work: it runs while the cell is rewritten as often again, and while both are read.
 *
 * Every value read is checked; without that there are no numbers. Accepted if, with the collector,
 * the median read of the rewritten cell takes at most twice as long.
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
import { captureEnvironment, integer, outputFolder, runCommand, startProgress } from '#results';
import { readInTurns, type ReadTimes } from './read-in-turns.ts';

/** Width of the first column of what is printed. */
const LABEL = 24;
const RATIO_MAX = 2;
const TABLE = 'versions';
const ONCE: CellAddress = { table: TABLE, row: 'written-once', column: 'value' };
const OFTEN: CellAddress = { table: TABLE, row: 'rewritten', column: 'value' };

const specification = {
  name: 'npm run bench:versions --',
  description:
    'Measures how much longer it takes to read a cell that was rewritten many times than one that was ' +
    'written once: without garbage collection, and with it.',
  options: {
    versions: integer({
      description: 'how often the one cell is written',
      default: 10_000,
      min: 1,
      max: 10_000_000,
    }),
    reads: integer({
      description: 'reads of each cell that are measured',
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
        'how long the collector waits before it deletes; in one process nothing is underway for long',
      default: 1_000,
      min: 1,
      max: 3_600_000,
      unit: 'ms',
    }),
    seed: integer({
      description: 'the same seed makes the same values and turns',
      default: 1,
      min: 0,
    }),
    directory: outputFolder({
      description: 'where the temporary folder of the database is made',
      default: tmpdir(),
      defaultText: "the system's folder for temporary files",
    }),
  },
  examples: [
    { command: 'npm run bench:versions', does: '10,000 versions, half a minute or so' },
    { command: 'npm run bench:versions -- --versions 100000', does: 'ten times as many' },
  ],
} as const;

interface Settings {
  readonly versions: number;
  readonly reads: number;
  readonly valueBytes: number;
  readonly messageLifetime: number;
  readonly seed: number;
}

interface Outcome {
  /** Versions of the rewritten cell in the storage while it was read. */
  readonly versions: number;
  readonly times: ReadTimes;
}

await runCommand(specification, async (settings, { signal }) => {
  const created = await mkdir(settings.directory, { recursive: true });
  const folder = await mkdtemp(path.join(settings.directory, 'bench-versions-'));
  try {
    // What is on the disk after a power failure does not matter here, and waiting for it is not measured.
    await using percolator = await openPercolator({ folder, fsync: false });
    await measure(percolator, settings, { folder, signal });
  } finally {
    await rm(created ?? folder, { recursive: true, force: true });
  }
});

async function measure(
  percolator: Percolator,
  settings: Settings,
  { folder, signal }: { readonly folder: string; readonly signal: AbortSignal },
): Promise<void> {
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
    const enough = collector.counters.cycles + 2; // The one underway may have begun before the last write.
    progress.phase('waiting for the collector', 1, 'cycles');
    while (collector.counters.cycles < enough && !signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const collected = await read();
    progress.end();
    if (!signal.aborted) conclude(settings, { without, collected }, folder);
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

function conclude(
  settings: Settings,
  { without, collected }: { readonly without: Outcome; readonly collected: Outcome },
  folder: string,
): void {
  const { cpuModel, cores, memoryBytes, nodeVersion } = captureEnvironment(folder);
  const memory = `${Math.round(memoryBytes / 2 ** 30)} GiB`;
  const isAccepted = collected.times.ratio <= RATIO_MAX;
  const lines = [
    '',
    `${count(settings.versions)} versions of ${count(settings.valueBytes)} bytes, seed ${settings.seed}, ` +
      `${count(settings.reads)} reads of each cell, taking turns; embedded storage`,
    '',
    `${''.padEnd(LABEL)}  versions   written once    rewritten   ratio of the medians`,
    line('without a collector', without),
    line('with a collector at work', collected),
    '',
    `${cpuModel}, ${cores} cores, ${memory}, Node ${nodeVersion}`,
    '',
    isAccepted
      ? `Accepted: with a collector, at most ${RATIO_MAX} times as long.`
      : `NOT accepted: with a collector, more than ${RATIO_MAX} times as long.`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  if (!isAccepted) process.exitCode = 1;
}

function line(label: string, { versions, times }: Outcome): string {
  const micros = (ms: number): string => `${(ms * 1_000).toFixed(1)} µs`.padStart(11);
  const { onceMs, oftenMs, ratio } = times;
  return `${label.padEnd(LABEL)}  ${count(versions).padStart(8)}    ${micros(onceMs)}  ${micros(oftenMs)}   ${ratio.toFixed(2)}`;
}

function count(value: number): string {
  return value.toLocaleString('en');
}
