/**
 * Mutants before their judges, some of them at the same time: each is killed by the first judge
 * that fails, or a survivor. The ledger keeps the verdicts, so that a stopped run loses none.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '#harness';
import { checkFolderWritable, checkReadableFile } from '../../harness/command-line/surroundings.ts';
import { Bench, type JobResult } from './bench.ts';
import { digestOf, type MachineMutant, mutated, readSource } from './generate.ts';
import { type Judge, judgesOf } from './judges.ts';
import type { OperatorName } from './operators.ts';

/** The means by which a mutant was killed. */
export type KilledBy = 'load' | 'tests' | 'seeds' | 'search' | 'time';

/** A verdict as written to the ledger, one per line. */
export interface MutantVerdict {
  readonly file: string;
  readonly key: string;
  /** The digest of the file's text; if the text changes, the verdict is out of date. */
  readonly digest: string;
  readonly line: number;
  readonly operator: OperatorName;
  /** Undefined if it survived. */
  readonly killedBy?: KilledBy | undefined;
  /** The step that killed it, and the reason it gave. */
  readonly step?: string | undefined;
  readonly why?: string | undefined;
  /**
   * Whether every judge that reaches its place was to be asked, until one killed it; absent in
   * verdicts of earlier programs.
   */
  readonly isThorough?: boolean | undefined;
  /**
   * How many judges were to be asked. Unless thorough, these may be fewer than reach its place
   * (`judgesOf`).
   */
  readonly judges: number;
  readonly cpuMs: number;
}

export interface VerdictOptions {
  readonly judges: readonly Judge[];
  /** Whether to ask all judges that reach the mutant, whatever they cost. */
  readonly isThorough: boolean;
}

/**
 * A step counts as looping if it takes this many times the processor time of the judge on the
 * unchanged engine, plus `PATIENCE_MS`.
 */
const PATIENCE = 1.5;
const PATIENCE_MS = 1_000;
/** Processor time for loading the engine, which is the step of no judge. */
const LOADING_MS_MAX = 10_000;

export async function judge(
  mutant: MachineMutant,
  court: VerdictOptions,
  bench: Bench,
): Promise<MutantVerdict> {
  const text = readSource(mutant.file);
  const judges = judgesOf(mutant, court.judges, court.isThorough);
  const verdict = {
    file: mutant.file,
    key: mutant.key,
    digest: digestOf(text),
    line: mutant.line,
    operator: mutant.operator,
    isThorough: court.isThorough,
    judges: judges.length,
  };
  const change = { file: mutant.file, text: mutated(text, mutant) };
  let cpuMs = 0;
  for (let from = 0; from < judges.length;) {
    const asked = judges.slice(from);
    const ended = await ask(asked, change, bench);
    cpuMs += ended.cpuMs;
    const { failure } = ended;
    if (failure === undefined) break;
    const at = asked.findIndex(({ step }) => step.name === failure.step);
    const accuser = asked[at];
    // A judge that depends on the system's clock must find the fault twice.
    const again = accuser?.isTimed === true ? await ask([accuser], change, bench) : undefined;
    cpuMs += again?.cpuMs ?? 0;
    if (again === undefined || again.failure !== undefined) {
      const { step, why } = failure;
      return { ...verdict, killedBy: meansOf(failure, accuser), step, why, cpuMs };
    }
    from += at + 1;
  }
  return { ...verdict, cpuMs };
}

function ask(
  judges: readonly Judge[],
  change: { readonly file: string; readonly text: string },
  bench: Bench,
): Promise<JobResult> {
  const patience = new Map(
    judges.map(({ step, cpuMs }) => [step.name, cpuMs * PATIENCE + PATIENCE_MS]),
  );
  const steps = judges.map(({ step }) => step);
  const cpuMsMax = (step: string): number => patience.get(step) ?? LOADING_MS_MAX;
  return bench.run({ change, steps, measures: false }, cpuMsMax);
}

function meansOf(failure: NonNullable<JobResult['failure']>, accuser: Judge | undefined): KilledBy {
  if (failure.isLoading || accuser === undefined) return 'load';
  return failure.isLate === true ? 'time' : accuser.step.kind;
}

export interface JudgeAllOptions {
  /** How many mutants are judged at the same time. */
  readonly jobs: number;
  readonly signal: AbortSignal;
  readonly onVerdict: (verdict: MutantVerdict) => void;
}

/**
 * Judges each mutant. On an error, also of `onVerdict` or `signal`, ends the processes of all
 * judges and then rejects with the first error.
 */
export async function judgeAll(
  mutants: readonly MachineMutant[],
  court: VerdictOptions,
  { jobs, signal, onVerdict }: JudgeAllOptions,
): Promise<void> {
  const waiting = [...mutants];
  const over = new AbortController();
  const stopped = AbortSignal.any([signal, over.signal]);
  const work = async (): Promise<void> => {
    using bench = new Bench();
    stopped.addEventListener('abort', () => bench[Symbol.dispose]());
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const verdict = await judge(mutant, court, bench).finally(() => {
        stopped.throwIfAborted(); // The end of the judges' process is no verdict.
      });
      onVerdict(verdict);
    }
  };
  const works = Array.from({ length: jobs }, work);
  try {
    await Promise.all(works);
  } finally {
    over.abort();
    await Promise.allSettled(works);
  }
}

/* The ledger: verdicts, written line by line as they are found. */

/** Which survivors are judged again. */
export interface Again {
  /** Whether a reason for the mutant's survival is listed. */
  readonly isExplained: boolean;
  /** Those whose survival is not explained. */
  readonly survivors: boolean;
  /** Those whose verdict came from a part of the judges. */
  readonly thorough: boolean;
}

export class Ledger {
  readonly #file: string;
  readonly #verdicts = new Map<string, MutantVerdict>();

  /**
   * Reads the existing verdicts; the newest verdict on a mutant counts. `anew` removes them.
   * @throws UsageError if the file cannot be read or made, or holds something else; it then stays
   * as it is
   */
  constructor(file: string, { anew = false }: { readonly anew?: boolean } = {}) {
    this.#file = file;
    const text = textOf(file);
    const verdicts = text.split('\n').map(parseLine);
    const read = verdicts.filter((verdict) => verdict !== undefined);
    if (text !== '' && read.length === 0) {
      throw new UsageError(
        `--ledger must be a file of verdicts, but ${JSON.stringify(file)} holds something else.`,
      );
    }
    if (anew) {
      rmSync(file, { force: true });
      return;
    }
    for (const verdict of read) this.#keep(verdict);
    if (text !== '' && !text.endsWith('\n')) appendFileSync(file, '\n');
  }

  add(verdict: MutantVerdict): void {
    appendFileSync(this.#file, `${JSON.stringify(verdict)}\n`);
    this.#keep(verdict);
  }

  /** Also undefined if the file has changed since. */
  verdictOn({ file, key }: MachineMutant): MutantVerdict | undefined {
    const verdict = this.#verdicts.get(`${file} ${key}`);
    return verdict?.digest === digestOf(readSource(file)) ? verdict : undefined;
  }

  /** Whether it has no verdict, or has survived and is to be judged again. */
  awaitsJudges(mutant: MachineMutant, { isExplained, survivors, thorough }: Again): boolean {
    const verdict = this.verdictOn(mutant);
    if (verdict === undefined) return true;
    if (verdict.killedBy !== undefined) return false;
    return (survivors && !isExplained) || (thorough && verdict.isThorough !== true);
  }

  #keep(verdict: MutantVerdict): void {
    this.#verdicts.set(`${verdict.file} ${verdict.key}`, verdict);
  }
}

/** Empty if there is no file yet; its folder is there afterwards. */
function textOf(file: string): string {
  if (existsSync(file)) {
    checkReadableFile('--ledger', file);
    return readFileSync(file, 'utf8');
  }
  checkFolderWritable('The folder of --ledger', path.dirname(file));
  mkdirSync(path.dirname(file), { recursive: true });
  return '';
}

/** Undefined for a line that was cut short, because its writer ended in the middle of it. */
function parseLine(line: string): MutantVerdict | undefined {
  try {
    const parsed = JSON.parse(line) as Partial<MutantVerdict> | null;
    return typeof parsed?.digest === 'string' ? (parsed as MutantVerdict) : undefined;
  } catch {
    return undefined;
  }
}
