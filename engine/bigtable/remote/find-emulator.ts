/**
 * Finds the official emulator on this machine.
 *
 *     1. `cbtemulator` on PATH
 *     2. the Google Cloud SDK: CLOUDSDK_ROOT_DIR, the folder of `gcloud` or `cbt` on PATH, or where
 *        installers put it
 */
import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Environment variables, as of `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

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
export const NOT_FOUND: string =
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
