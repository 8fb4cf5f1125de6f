/**
 * The official emulator as a child process: found on this machine, started on a free port, and
 * stopped in every case (guarded-process.ts).
 */
import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Clock, PercolatorError, systemClock } from '../../base/index.ts';
import {
  type Environment,
  type GuardedProcess,
  startGuarded,
  stopGuarded,
} from '../guarded-process.ts';

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

/*
 * Where the program is looked for:
 *
 *     1. `cbtemulator` on PATH
 *     2. the Google Cloud SDK: CLOUDSDK_ROOT_DIR, the folder of `gcloud` or `cbt` on PATH, or where
 *        installers put it
 */

const PROGRAM = 'cbtemulator';
const IN_SDK = ['platform', 'bigtable-emulator', PROGRAM] as const;
const SDK_FOLDERS = [
  '/usr/lib/google-cloud-sdk',
  '/usr/share/google-cloud-sdk',
  '/usr/local/share/google-cloud-sdk',
  '/usr/local/google-cloud-sdk',
  '/opt/google-cloud-sdk',
  '/opt/homebrew/share/google-cloud-sdk',
  '/snap/google-cloud-sdk/current',
];

/** What startEmulator says if it is not installed. */
const NOT_FOUND: string =
  `the official Bigtable emulator (${PROGRAM}) is neither on PATH nor in a Google Cloud SDK; ` +
  'install it with `gcloud components install bigtable` or ' +
  '`apt-get install google-cloud-cli-bigtable-emulator`, or name a running one in BIGTABLE_EMULATOR_HOST';

/** The program's path; undefined if it is not installed. */
export async function findEmulator(environment: Environment): Promise<string | undefined> {
  const folders = (environment['PATH'] ?? '').split(':').filter((folder) => folder !== '');
  for (const folder of folders) {
    const program = join(folder, PROGRAM);
    if (await isExecutable(program)) return program;
  }
  for (const folder of await sdkFolders(environment, folders)) {
    const program = join(folder, ...IN_SDK);
    if (await isExecutable(program)) return program;
  }
  return undefined;
}

/** Why no emulator can be started on this machine, in a sentence; undefined if one can be. */
export async function whyNoEmulator(environment: Environment): Promise<string | undefined> {
  return (await findEmulator(environment)) === undefined ? NOT_FOUND : undefined;
}

async function sdkFolders(
  environment: Environment,
  path: readonly string[],
): Promise<readonly string[]> {
  const folders: string[] = [];
  const { CLOUDSDK_ROOT_DIR: root = '', HOME: home = '' } = environment;
  if (root !== '') folders.push(root);
  for (const folder of path) {
    for (const tool of ['gcloud', 'cbt']) {
      const real = await realpath(join(folder, tool)).catch(() => undefined);
      if (real !== undefined) folders.push(dirname(dirname(real)));
    }
  }
  if (home !== '') folders.push(join(home, 'google-cloud-sdk'));
  return [...folders, ...SDK_FOLDERS];
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile(); // X_OK on a folder: it can be entered.
  } catch {
    return false;
  }
}
