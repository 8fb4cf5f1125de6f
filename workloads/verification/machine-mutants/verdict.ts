/** One mutant before its judges: killed by the first judge that fails, or a survivor. */
import { digestOf, readSource } from './folders.ts';
import { mutated, type MachineMutant } from './generate.ts';
import { type Judge, judgesOf } from './judges.ts';
import type { OperatorName } from './operators.ts';
import type { Bench, JobResult } from './bench.ts';

/** The means by which a mutant was killed. */
export type KilledBy = 'load' | 'tests' | 'seeds' | 'search' | 'time';

/** A verdict as written to the ledger, one per line. */
export interface Verdict {
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
): Promise<Verdict> {
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
