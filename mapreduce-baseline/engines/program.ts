/** Runs the program of an outside engine, with all the processes that it starts. */
import { MapReduceError } from '../errors.ts';

interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A failed program may have said a lot; the message has this much of the end. */
const TOLD_CHARACTERS = 2_000;

/**
 * The program gets a process group of its own, so that all its processes can be killed together.
 * @throws TASK_FAILED if it fails; the message has what a streaming program complained of, or the
 *   end of what the program said
 */
export async function runProgram(
  name: string,
  [command = '', ...words]: readonly string[],
  { env = {}, signal }: ProgramOptions,
): Promise<void> {
  signal?.throwIfAborted();
  const { execa } = await import('execa');
  const running = execa(command, words, { detached: true, env, stdin: 'ignore', reject: false });
  const stop = (): void => killGroup(running.pid);
  signal?.addEventListener('abort', stop);
  try {
    const { failed, stdout, stderr, shortMessage } = await running;
    signal?.throwIfAborted();
    if (!failed) return;
    const said = `${stdout}\n${stderr}`.trim();
    const reason = /^.*streaming-program: (.*)$/m.exec(said)?.[1];
    const told = reason ?? (said.slice(-TOLD_CHARACTERS) || shortMessage);
    throw new MapReduceError('TASK_FAILED', `${name} failed: ${told}`);
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL');
  } catch {
    // The group has just ended on its own.
  }
}
