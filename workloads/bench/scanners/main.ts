/**
 * `./run.sh bench:scanners`: the value of the cure for platooning. (Section 2.4: "scanning threads
 * would tend to clump together in a few regions of the table, effectively reducing the parallelism
 * of the scan".)
 *
 * 1. A table of dirty rows, in tablets, with oracle and lock service in separate processes.
 * 2. Scanners, each a process, run an observer for every row. It spends most of its time waiting,
 *    so the rows per second depend on the number of different rows in flight, not on the processor.
 * 3. Measure until the last row is clean, without locks, with locks, and with locks and jumps:
 *
 *        none   a scanner knows nothing about the others; two on one row both run it, and one loses
 *        skip   it locks the rows it scans, and continues after the rows of another scanner
 *        jump   the paper's cure: it locks the rows it scans, and jumps when it meets another
 *
 * Every row must have exactly one committed run, or there are no numbers. The modes take turns, so
 * that all meet the same disturbances.
 *
 * Exit codes: 0 for any measurement; 1 if a row has two committed runs; 2 for a mistake on the
 * command line.
 */
import { tmpdir } from 'node:os';
import { defaultRunFolder, recordFindings, type Run } from '#results';
import { integer, outputFolder, runCommand, startProgress } from '#harness';
import { DATABASE_OPTIONS, settingsOf } from '../../harness/engine-settings.ts';
import { parametersOf } from '../../harness/parameters.ts';
import { foundIn, gainOf, MEANINGS, mediansOf, mostPerSecond } from './findings.ts';
import { measurePoint, type Plan, type Point } from './measure.ts';
import { MODES } from './messages.ts';

const LIMITATIONS = [
  'Scanners, oracle and lock service share the cores of one machine; a run mostly waits, so the processor is not the limit.',
  'The start of a scanner and the targets of its jumps are random in each measurement, without a seed.',
];

const specification = {
  script: 'bench:scanners',
  description:
    'Measures how many dirty rows per second scanners in separate processes clean, ' +
    'without and with the locks and jumps that keep them apart.',
  options: {
    scanners: integer({ description: 'scanner processes', default: 8, min: 1, max: 64 }),
    rows: integer({
      description: 'dirty rows at the start',
      default: 4_000,
      min: 10,
      max: 10_000_000,
    }),
    tablets: integer({ description: 'tablets of the table', default: 16, min: 1, max: 1_000 }),
    concurrency: integer({
      description: 'concurrent observer runs per scanner',
      default: 4,
      min: 1,
      max: 10_000,
    }),
    think: integer({
      description: 'waiting time of a run',
      default: 40,
      min: 0,
      max: 60_000,
      unit: 'ms',
    }),
    repeats: integer({
      description: 'measurements of each mode; the median counts',
      default: 3,
      min: 1,
      max: 1_000,
    }),
    ...DATABASE_OPTIONS,
    directory: outputFolder({
      description: 'parent of the temporary folders of the databases',
      default: tmpdir(),
      defaultText: "the system's folder for temporary files",
    }),
    out: outputFolder({
      description: 'new folder for the record, the charts and the report',
      default: () => defaultRunFolder('scanners'),
      defaultText: 'results/runs/scanners-<UTC time>',
      isNew: true,
    }),
  },
  examples: [
    { command: './run.sh bench:scanners', does: 'eight scanners, a minute or two' },
    { command: './run.sh bench:scanners --tablets 1', does: 'without splits to start from' },
  ],
} as const;

await runCommand(specification, async (options, { signal, commandLine }) => {
  const { think: thinkMs, repeats, out, ...given } = options;
  const plan: Plan = { ...given, thinkMs, engine: settingsOf(options) };
  const header = {
    kicker: 'Percolator paper, section 2.4',
    title: 'Scanners that meet',
    experiment: 'scanners',
    profile: 'custom',
    commandLine,
    parameters: parametersOf(options),
    seed: 0,
    repeats,
    store: {
      name: 'embedded',
      durability: 'a commit survives kill -9 of the process, not a power failure (no fsync)',
    },
    limitations: LIMITATIONS,
  } as const;
  const points: Point[] = [];
  const { run, page } = await recordFindings(out, header, signal, async () => {
    await measureInTurns(plan, { repeats, points, signal });
    return foundIn(plan, points);
  });
  process.stdout.write(`${linesOf(plan, points, run).join('\n')}\n\nReport: ${page}\n`);
});

/** Adds each measurement to `points`. */
async function measureInTurns(
  plan: Plan,
  run: { readonly repeats: number; readonly points: Point[]; readonly signal: AbortSignal },
): Promise<void> {
  const { repeats, points, signal } = run;
  const progress = startProgress();
  try {
    for (let repeat = 1; repeat <= repeats; repeat++) {
      for (const mode of MODES) {
        progress.phase(`${MEANINGS[mode]}, ${repeat} of ${repeats}`, plan.rows, 'rows');
        const onRows = (done: number): void => progress.update(done);
        points.push(await measurePoint(mode, plan, { signal, onRows }));
      }
    }
  } finally {
    progress.end();
  }
}

function linesOf(plan: Plan, points: readonly Point[], { record }: Run): readonly string[] {
  const { cpuModel, cores, nodeVersion } = record.environment;
  const medians = mediansOf(points);
  return [
    `${plan.scanners} ${plan.scanners === 1 ? 'scanner' : 'scanners'}, ${plan.concurrency} ${plan.concurrency === 1 ? 'run' : 'runs'} of ${plan.thinkMs} ms at a time each: at most ${whole(mostPerSecond(plan))} rows per second`,
    '                           rows per second   of no locks   runs begun per row   meetings',
    ...medians.map((point) => lineOf(point, gainOf(point, medians))),
    `machine: ${cpuModel}, ${cores} cores, Node ${nodeVersion}`,
  ];
}

function lineOf(point: Point, gain: number): string {
  return [
    MEANINGS[point.mode].padEnd(26),
    whole(point.rowsPerSecond).padStart(16),
    `${gain.toFixed(2)} ×`.padStart(14),
    point.runsPerRow.toFixed(2).padStart(21),
    whole(point.meetings).padStart(11),
  ].join('');
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
