/**
 * A program as a child process that ends when this process ends, however it ends.
 *
 *     we ──▶ sh ──▶ becomes the program             `pid` is the program's own
 *              └──▶ a guard that reads from us      ends the program when we end
 *
 * A process that is killed by `kill -9` can no longer stop anything, but the system closes its
 * pipes. So a shell waits at the other end of one. When the program is stopped in good order, the
 * shell is told to leave, so that it never kills a later process with the same number.
 *
 * The program has a process group of its own: a ctrl-C at the terminal is ours to handle, and we
 * may still need it.
 */
import { createRequire } from 'node:module';
import type * as Execa from 'execa';

/**
 * Moves our pipe to descriptor 3, since a shell gives background commands nothing to read. The
 * guard has no output: otherwise readers of that output would wait for its end. Last, it continues
 * the program, in case the system ends a stopped program only once it continues.
 */
const SCRIPT = `
  exec 3<&0
  log=$1
  grace=$2
  shift 2
  (
    read -r word <&3 && exit
    [ "$grace" = 0 ] || kill $$
    while [ "$grace" != 0 ] && kill -0 $$; do sleep 1; grace=$((grace - 1)); done
    kill -9 $$
    kill -CONT $$
  ) >/dev/null 2>&1 &
  [ -z "$log" ] || exec >>"$log" 2>&1
  exec "$@" </dev/null 3<&-
`;

const require = createRequire(import.meta.url);

/** Environment variables, as of `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type GuardedProcess = Execa.ResultPromise<Options>;

const TERM_MS_MAX = 5000;
const OPTIONS = {
  stdio: 'pipe',
  detached: true,
  cleanup: false,
  buffer: false,
  reject: false,
} as const;

type Options = typeof OPTIONS & { readonly forceKillAfterDelay: number };

interface GuardedOptions {
  /** A file for its output, which otherwise comes to us. */
  readonly log?: string | undefined;
  /**
   * How long it may take to end in good order before it is killed, in seconds. Default 0 when we
   * have ended, and 5 after a SIGTERM.
   */
  readonly graceSeconds?: number | undefined;
}

/** @param command the program and its arguments */
export function startGuarded(
  command: readonly string[],
  { log = '', graceSeconds = 0 }: GuardedOptions = {},
): GuardedProcess {
  const { execa } = require('execa') as typeof Execa;
  const forceKillAfterDelay = graceSeconds > 0 ? 1000 * graceSeconds : TERM_MS_MAX;
  const options: Options = { ...OPTIONS, forceKillAfterDelay };
  return execa('sh', ['-c', SCRIPT, 'sh', log, String(graceSeconds), ...command], options);
}

/** Kills the process, and resolves when it is gone. Stopping twice is harmless. */
export async function stopGuarded(process: GuardedProcess): Promise<void> {
  process.stdin.on('error', () => {}); // It has already exited.
  process.stdin.end('stopped\n');
  process.kill('SIGKILL');
  await process;
}
