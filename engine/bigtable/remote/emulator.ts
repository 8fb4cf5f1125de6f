/**
 * The official emulator as a child process: started on a free port, and stopped in every case.
 *
 *     we ──▶ sh ──▶ becomes the emulator            `pid` is the emulator's own
 *              └──▶ a guard that reads from us      ends the emulator when we end, however we end
 *
 * A process that is killed by `kill -9` can no longer stop anything, but the system closes its
 * pipes. So a shell waits at the other end of one. When the emulator is stopped in good order, the
 * shell is told to leave, so that it never kills a later process with the same number.
 *
 * The emulator has a process group of its own: a ctrl-C at the terminal is ours to handle, and we
 * may still need it.
 */
import { execa } from 'execa';
import { type Clock, PercolatorError, systemClock } from '../../base/index.ts';
import { emulatorNotFound, type Environment, findEmulator } from './find-emulator.ts';

export interface Emulator extends AsyncDisposable {
  /** `host:port` */
  readonly address: string;
  readonly pid: number;
  /** Resolves when the emulator is gone; stopping twice is harmless. Its data is gone with it. */
  stop(): Promise<void>;
}

export interface EmulatorOptions {
  /** Where to look for the program, as in `process.env`. */
  readonly environment: Environment;
  readonly clock?: Clock | undefined;
}

const HOST = '127.0.0.1';
const START_MS_MAX = 10_000;
/**
 * Moves our pipe to descriptor 3, since a shell gives background commands nothing to read. The
 * guard has no output: otherwise readers of that output would wait for its end.
 */
const SCRIPT = `
  exec 3<&0
  (read -r word <&3 || kill -9 $$) >/dev/null 2>&1 &
  exec "$0" -host ${HOST} -port 0 </dev/null 3<&-
`;

/** @throws STORE_UNAVAILABLE if it is not installed, with how to install it, or does not start */
export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const { environment, clock = systemClock } = options;
  const program = await findEmulator(environment);
  if (program === undefined) throw emulatorNotFound();
  const child = start(program);
  try {
    const address = await addressOf(child, clock);
    const { pid } = child;
    if (pid === undefined) throw notStarted('it has no process');
    const stop = (): Promise<void> => stopProcess(child);
    return { address, pid, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stopProcess(child);
    throw error;
  }
}

type EmulatorProcess = ReturnType<typeof start>;

/** The child's standard input is the guard's pipe. */
function start(program: string) {
  return execa('sh', ['-c', SCRIPT, program], {
    stdio: 'pipe',
    detached: true,
    cleanup: false,
    buffer: false,
    reject: false,
  });
}

/** The emulator prints its address when it listens. */
async function addressOf(process: EmulatorProcess, clock: Clock): Promise<string> {
  let printed = '';
  const found = new Promise<string>((resolve, reject) => {
    const look = (text: Buffer): void => {
      printed += text.toString();
      const [, address] = /running on (\S+:\d+)/.exec(printed) ?? [];
      if (address !== undefined) resolve(address);
    };
    process.stdout.on('data', look);
    process.stderr.on('data', look);
    void process.then(({ message }) => reject(notStarted(printed.trim() || `${message}`)));
  });
  const giveUp = new AbortController();
  const late = clock
    .sleep(START_MS_MAX, giveUp.signal)
    .then(() => Promise.reject(notStarted(`no answer in ${START_MS_MAX} ms`)));
  late.catch(() => {});
  try {
    return await Promise.race([found, late]);
  } finally {
    giveUp.abort();
  }
}

async function stopProcess(process: EmulatorProcess): Promise<void> {
  process.stdin.on('error', () => {}); // It has already exited.
  process.stdin.end('stopped\n');
  process.kill('SIGKILL'); // It has no data to lose.
  await process;
}

function notStarted(reason: string): PercolatorError {
  return new PercolatorError('STORE_UNAVAILABLE', `the Bigtable emulator did not start: ${reason}`);
}
