/** Many mutants before their judges, some of them at the same time. */
import { Bench } from './bench.ts';
import type { MachineMutant } from './generate.ts';
import { judge, type Verdict, type VerdictOptions } from './verdict.ts';

export interface JudgeAllOptions {
  /** How many mutants are judged at the same time. */
  readonly jobs: number;
  readonly signal: AbortSignal;
  readonly onVerdict: (verdict: Verdict) => void;
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
