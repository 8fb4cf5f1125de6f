/**
 * The judges: all quick test files of the engine, some seeds of the simulator, some exhaustive
 * searches.
 *
 * Before mutants are judged, each judge runs on the unchanged engine. That shows which judges
 * qualify (they pass, and take little time), what they cost, and which code they reach: a mutant is
 * only shown to judges that reach its place. A measurement is kept in a file until the engine, the
 * verification or the judge's test file changes.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { digestOf, folderOf, type MachineMutant, readSource, ROOT } from './generate.ts';
import { Bench, type ReachedRanges, type JudgeStep } from './bench.ts';

export interface Judge {
  readonly step: JudgeStep;
  /** On the unchanged engine, in milliseconds of processor time. */
  readonly cpuMs: number;
  /** Whether it may depend on the system's clock, so that a busy machine may make it fail. */
  readonly isTimed: boolean;
  readonly reached: ReachedRanges;
}

export interface Judges {
  readonly judges: readonly Judge[];
  /** Why a step is not a judge. */
  readonly refused: readonly { readonly step: string; readonly why: string }[];
}

/** What is kept of a step: whether it is a judge, valid while engine and test have this digest. */
interface MeasuredStep {
  readonly digest: string;
  readonly judge?: Judge;
  readonly refused?: string;
}

/** A step that takes more processor time is not quick, and no judge. */
const CPU_MS_MAX = 6_000;
/**
 * The most that test files of other folders may cost together for one mutant, without `--thorough`.
 * Those of the mutant's folder always run.
 */
const ELSEWHERE_CPU_MS = 3_000;

/** Parts of the paths of test files that are no judges. */
export const NOT_JUDGES: readonly string[] = [
  // They start servers, or processes of their own, in which the engine is unchanged.
  '/processes.test.ts',
  'engine/hbase.test.ts',
  'engine/remote-database.test.ts',
  'engine/remote-increments.test.ts',
  // They test code that is not changed: the embedded and the remote store, the test tools.
  'engine/bigtable/embedded/',
  'engine/bigtable/remote/',
  'engine/testing/',
];

/**
 * In a test file: a sign that it may depend on the system's clock. A database runs on that clock
 * unless it is given another.
 */
const SYSTEM_CLOCK =
  /node:(?:child_process|timers)|\b(?:systemClock|openPercolator|openHBase|databaseSuite|setTimeout)\b|\bperformance\./;

const FAULTS = { crashes: 1, copies: 1 };
const SEARCHES: readonly JudgeStep[] = [
  search('one-cell', { suspicion: 'all', ...FAULTS }),
  search('unknown', { suspicion: 'crashed', lostAnswers: 1 }),
  search('observed', { suspicion: 'crashed', crashes: 1 }),
  search('one-row', { suspicion: 'all' }),
  search('delete', { suspicion: 'all' }),
];
const SEEDS: readonly JudgeStep[] = [seeds(1, 6), seeds(7, 15), seeds(16, 24)];

function seeds(from: number, to: number): JudgeStep {
  return { kind: 'seeds', name: `seeds ${from} to ${to}`, from, to };
}

function search(
  scenario: string,
  options: Omit<Extract<JudgeStep, { kind: 'search' }>, 'kind' | 'name' | 'scenario'>,
): JudgeStep {
  return { kind: 'search', name: `search ${scenario}`, scenario, ...options };
}

/** @param keptIn the file in which measurements are kept */
export async function measureJudges(
  keptIn: string,
  onJudge: (done: number, total: number) => void,
  signal: AbortSignal,
): Promise<Judges> {
  mkdirSync(path.dirname(keptIn), { recursive: true });
  const kept = readKept(keptIn);
  const engine = engineDigest();
  const steps = [
    ...testFiles().map((name): JudgeStep => ({ kind: 'tests', name })),
    ...SEEDS,
    ...SEARCHES,
  ];
  const measured: Record<string, MeasuredStep> = {};
  for (const [i, step] of steps.entries()) {
    onJudge(i, steps.length);
    signal.throwIfAborted();
    const digest = digestOf(engine, step.kind === 'tests' ? readSource(step.name) : step.name);
    const before = kept[step.name];
    measured[step.name] = before?.digest === digest ? before : await measure(step, digest);
    signal.throwIfAborted(); // An interrupt may have ended the process of the step.
    writeFileSync(keptIn, JSON.stringify({ ...kept, ...measured }));
  }
  const all = Object.entries(measured);
  return {
    judges: all.flatMap(([, { judge }]) => judge ?? []),
    refused: all.flatMap(([step, { refused }]) =>
      refused === undefined ? [] : { step, why: refused },
    ),
  };
}

async function measure(step: JudgeStep, digest: string): Promise<MeasuredStep> {
  using bench = new Bench();
  const ended = await bench.run({ steps: [step], measures: true }, () => 10 * CPU_MS_MAX);
  const [passed] = ended.passed;
  if (passed === undefined) return { digest, refused: ended.failure?.why ?? 'did not end' };
  const { count, cpuMs, reached = {} } = passed;
  if (count === 0) return { digest, refused: 'has no tests' };
  if (cpuMs > CPU_MS_MAX) return { digest, refused: `takes ${cpuMs} ms of processor time` };
  return { digest, judge: { step, cpuMs, isTimed: isTimed(step), reached } };
}

export function isTimed(step: JudgeStep): boolean {
  return step.kind === 'tests' && SYSTEM_CLOCK.test(readSource(step.name));
}

/**
 * The judges that reach the mutant's place, in the order in which they run, cheap ones first in
 * each group: tests of the mutant's folder; tests of other folders, unless thorough only as many as
 * take `ELSEWHERE_CPU_MS` together; seeds and searches.
 */
export function judgesOf(
  mutant: MachineMutant,
  judges: readonly Judge[],
  isThorough: boolean,
): readonly Judge[] {
  const able = judges
    .filter(({ reached }) =>
      reached[mutant.file]?.some(([from, to]) => from <= mutant.start && mutant.start < to),
    )
    .toSorted((a, b) => a.cpuMs - b.cpuMs);
  const own = able.filter(({ step }) => isOwn(step, mutant));
  let leftMs = isThorough ? Infinity : ELSEWHERE_CPU_MS;
  const elsewhere = able.filter((judge) => {
    if (judge.step.kind !== 'tests' || own.includes(judge)) return false;
    leftMs -= judge.cpuMs;
    return leftMs >= 0;
  });
  const rest = able.filter(({ step }) => step.kind !== 'tests');
  return [...own, ...elsewhere, ...rest];
}

function isOwn(step: JudgeStep, mutant: MachineMutant): boolean {
  return step.kind === 'tests' && step.name.startsWith(`engine/${folderOf(mutant.file)}/`);
}

export function testFiles(): readonly string[] {
  return globSync('engine/**/*.test.ts', { cwd: ROOT })
    .map((file) => file.replaceAll(path.sep, '/'))
    .filter((file) => !NOT_JUDGES.some((part) => file.includes(part)))
    .toSorted();
}

/**
 * The digest of the engine and the verification without their tests: together with a judge's own
 * file, they decide how much of the engine the judge reaches.
 */
function engineDigest(): string {
  const files = globSync(['engine/**/*.ts', 'workloads/verification/**/*.ts'], { cwd: ROOT });
  const sources = files.filter((file) => !file.endsWith('.test.ts')).toSorted();
  return digestOf(...sources.flatMap((file) => [file, readSource(file)]));
}

function readKept(file: string): Readonly<Record<string, MeasuredStep>> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, MeasuredStep>;
  } catch {
    return {};
  }
}
