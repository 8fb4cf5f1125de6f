/** Runs the program of an outside engine, with all the processes that it starts. */
import { MapReduceError } from '../errors.ts';

interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Finds the reason, as its group `told`, in what a failed program said. */
  readonly reason?: RegExp | undefined;
  /** If the signal has stopped the program, is told what the program had said. */
  readonly stopped?: ((said: string) => Promise<void>) | undefined;
}

/** The complaint of a streaming program, which reaches us through most engines. */
const COMPLAINT = /^.*streaming-program(?: (?<code>[A-Z_]+))?: (?<told>.*)$/m;

/** Codes of complaints that are those of the run. */
const FINAL = ['RECORD_INVALID', 'JOB_INVALID'] as const;

/** A failed program may have said a lot; the message has this much of its end. */
const TOLD_CHARACTERS = 2_000;

/**
 * The program gets a process group of its own, so that all its processes can be killed together.
 * @returns what it said
 * @throws TASK_FAILED, or the code of a complaint, if it fails; the message has the reason, or the
 *   end of what the program said
 */
export async function runProgram(
  name: string,
  [command = '', ...words]: readonly string[],
  { env = {}, signal, reason = COMPLAINT, stopped }: ProgramOptions,
): Promise<string> {
  const { execa } = await import('execa');
  signal?.throwIfAborted(); // Nothing is awaited between this and the listener.
  const running = execa(command, words, {
    detached: true,
    env: { ...localeOf(process.env), ...env },
    stdin: 'ignore',
    reject: false,
  });
  const stop = (): void => killGroup(running.pid);
  signal?.addEventListener('abort', stop);
  try {
    const { failed, stdout, stderr, shortMessage } = await running;
    const said = `${stdout}\n${stderr}`.trim();
    if (signal?.aborted === true) await stopped?.(said);
    signal?.throwIfAborted();
    if (!failed) return said;
    const { code = '', told } = reason.exec(said)?.groups ?? {};
    const known = FINAL.find((one) => one === code) ?? 'TASK_FAILED';
    const end = said.slice(-TOLD_CHARACTERS) || shortMessage;
    throw new MapReduceError(known, `${name} failed: ${told ?? end}`);
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** If the locale is not UTF-8, or is not set, Java cannot open files of every name. */
function localeOf({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): Record<string, string> {
  const locale = [LC_ALL, LC_CTYPE, LANG].find((name) => name !== undefined && name !== '') ?? '';
  return /utf-?8/iu.test(locale) ? {} : { LC_ALL: 'C.UTF-8' };
}

function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL');
  } catch {
    // The group has just ended on its own.
  }
}
