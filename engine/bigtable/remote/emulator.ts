/**
 * The official emulator as a process of ours: started on a free port, and stopped in every case.
 *
 *     we ──▶ sh ──▶ becomes the emulator            `pid` is the emulator's own
 *              └──▶ a guard that reads from us      ends the emulator when we end, however we end
 *
 * A process that is killed by `kill -9` can stop nothing any more, but the system closes its pipes. So a
 * shell waits at the other end of one. It is told to leave without harm when the emulator is stopped
 * in good order, so that it never kills a process that has got the number since.
 *
 * It is in a group of its own: a ctrl-C at the terminal is ours to handle, and we may still need it.
 */
import { execa } from 'execa';
import { type Clock, PercolatorError, systemClock } from '../../base/index.ts';
import { emulatorNotFound, type Environment, findEmulator } from './find-emulator.ts';

export interface Emulator extends AsyncDisposable {
  /** `host:port` */
  readonly address: string;
  readonly pid: number;
  /** Resolves when it is gone; stopping twice is harmless. What it held is gone with it. */
  stop(): Promise<void>;
}

export interface EmulatorOptions {
  /** Where to look for it, as in `process.env`. */
  readonly environment: Environment;
  readonly clock?: Clock | undefined;
}

const HOST = '127.0.0.1';
const START_MS_MAX = 10_000;
/**
 * Our pipe is moved out of the way, since a shell gives nothing to read to what runs beside it. The guard has no
 * output: somebody would wait for its end.
 */
const SCRIPT = `
  exec 3<&0
  (read -r word <&3 || kill -9 $$) >/dev/null 2>&1 &
  exec "$0" -host ${HOST} -port 0 </dev/null 3<&-
`;

/** @throws STORE_UNAVAILABLE if it is not installed, with how to get it, or does not start */
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

/** Its standard input is the guard's pipe. */
function start(program: string) {
  return execa('sh', ['-c', SCRIPT, program], {
    stdio: 'pipe',
    detached: true,
    cleanup: false,
    buffer: false,
    reject: false,
  });
}

/** It prints its address when it listens. */
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
  process.stdin.on('error', () => {}); // It is gone already.
  process.stdin.end('stopped\n');
  process.kill('SIGKILL'); // It keeps nothing that could be lost.
  await process;
}

function notStarted(reason: string): PercolatorError {
  return new PercolatorError('STORE_UNAVAILABLE', `the Bigtable emulator did not start: ${reason}`);
}
