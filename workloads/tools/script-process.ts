/** Runs a script of a working tree for another script, which has standard output for itself. */
import path from 'node:path';
import { execa } from 'execa';

export interface EndedScript {
  readonly failed: boolean;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly originalMessage?: string | undefined;
  /** What it wrote to standard error, if `isHeard`. */
  readonly stderr?: unknown;
}

interface Running {
  /** Its abort interrupts the script, which then cleans up. */
  readonly signal: AbortSignal;
  /** Whether standard error, which is shown, is also returned. It is then no terminal. */
  readonly isHeard?: boolean;
}

/**
 * Runs `run.sh` of the tree in the folder of the caller. What the script prints goes to standard
 * error, like its progress.
 * @throws the reason of the signal, if that ended it
 */
export async function runTreeScript(
  tree: string,
  words: readonly string[],
  { signal, isHeard = false }: Running,
): Promise<EndedScript> {
  const ended = await execa(path.join(tree, 'run.sh'), words, {
    stdin: 'ignore',
    stdout: process.stderr,
    stderr: isHeard ? ['inherit', 'pipe'] : 'inherit',
    reject: false,
    cancelSignal: signal,
    killSignal: 'SIGINT',
    forceKillAfterDelay: false, // A second ctrl-C ends it; until then it may clean up.
  });
  signal.throwIfAborted();
  return ended;
}
