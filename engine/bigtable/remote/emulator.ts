/**
 * The official emulator as a child process: started on a free port, and stopped in every case
 * (guarded-process.ts).
 */
import { type Clock, PercolatorError, systemClock } from '../../base/index.ts';
import { type GuardedProcess, startGuarded, stopGuarded } from '../guarded-process.ts';
import { type Environment, findEmulator, NOT_FOUND } from './find-emulator.ts';

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
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
}

const HOST = '127.0.0.1';
const START_MS_MAX = 10_000;

/** @throws STORE_UNAVAILABLE if it is not installed, with how to install it, or does not start */
export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const { environment, clock = systemClock } = options;
  const program = await findEmulator(environment);
  if (program === undefined) throw new PercolatorError('STORE_UNAVAILABLE', NOT_FOUND);
  const child = startGuarded([program, '-host', HOST, '-port', '0']);
  try {
    const address = await addressOf(child, clock);
    const { pid } = child;
    if (pid === undefined) throw notStarted('it has no process');
    const stop = (): Promise<void> => stopGuarded(child);
    return { address, pid, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stopGuarded(child);
    throw error;
  }
}

/** The emulator prints its address when it listens. */
async function addressOf(process: GuardedProcess, clock: Clock): Promise<string> {
  let printed = '';
  const found = new Promise<string>((resolve, reject) => {
    const look = (text: Buffer): void => {
      printed += text.toString();
      const [, address] = /running on (\S+:\d+)/.exec(printed) ?? [];
      if (address === undefined) return;
      resolve(address);
      // Later output is read, so that the emulator need not wait, and is not kept.
      for (const output of outputs) output.off('data', look).resume();
    };
    const outputs = [process.stdout, process.stderr];
    for (const output of outputs) output.on('data', look);
    void process.then(({ exitCode, signal, originalMessage }) => {
      const end = signal ?? (exitCode === undefined ? undefined : `exit code ${exitCode}`);
      const silence = end === undefined ? originalMessage : `it ended with ${end}, without a word`;
      reject(notStarted(printed.trim() || `${silence}`));
    });
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

function notStarted(reason: string): PercolatorError {
  return new PercolatorError('STORE_UNAVAILABLE', `the Bigtable emulator did not start: ${reason}`);
}
