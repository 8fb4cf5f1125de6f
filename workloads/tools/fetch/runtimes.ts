/**
 * The other runtimes that the engine runs on, besides Node: finding Deno and Bun, and fetching them
 * from npm. No part of this project needs them but the test that shares a folder with them.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { runNpm } from '../run-npm.ts';

export interface Runtime {
  readonly name: 'Deno' | 'Bun';
  /** The program and its arguments; a file and the file's own arguments follow. */
  readonly command: readonly string[];
}

const ROOT = path.resolve(import.meta.dirname, '../../..');
/** Where `fetchRuntimes` puts them. */
const FETCHED = path.join(ROOT, 'node_modules/.cache/runtimes');
const PACKAGES = { private: true, dependencies: { deno: '2.9.6', bun: '1.4.5' } };
const KNOWN = [
  { name: 'Deno', program: 'deno', variable: 'DENO', words: ['run', '--allow-all', '--quiet'] },
  { name: 'Bun', program: 'bun', variable: 'BUN', words: ['run'] },
] as const;

/**
 * Those of this machine: the program that an environment variable names (DENO, BUN), or one of
 * node_modules, of `./run.sh fetch`, or on PATH; the first that runs.
 */
export async function findRuntimes(): Promise<readonly Runtime[]> {
  const found: Runtime[] = [];
  for (const { name, program, variable, words } of KNOWN) {
    const named = process.env[variable] ?? '';
    const places = [ROOT, FETCHED].map((folder) => path.join(folder, 'node_modules/.bin', program));
    const tries = named === '' ? [...places.filter((file) => existsSync(file)), program] : [named];
    for (const file of tries) {
      if ((await execa(file, ['--version'], { reject: false })).failed) continue;
      found.push({ name, command: [file, ...words] });
      break;
    }
  }
  return found;
}

/**
 * Does nothing if they are here.
 * @throws what npm says if they cannot be fetched; a sentence if one was fetched, and does not run
 */
export async function fetchRuntimes(): Promise<void> {
  if ((await missingRuntimes()).length === 0) return;
  await mkdir(path.dirname(FETCHED), { recursive: true });
  const folder = await mkdtemp(`${FETCHED}-`); // On the same disk, or it could not be renamed.
  try {
    await writeFile(path.join(folder, 'package.json'), JSON.stringify(PACKAGES));
    await runNpm(['install', '--no-audit', '--no-fund'], 'fetch Deno and Bun', { cwd: folder });
    await rm(FETCHED, { recursive: true, force: true });
    await rename(folder, FETCHED);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const missing = await missingRuntimes();
  if (missing.length === 0) return;
  throw new Error(`npm has brought ${missing.join(' and ')}, but not in a form that runs here`);
}

async function missingRuntimes(): Promise<readonly Runtime['name'][]> {
  const found = new Set((await findRuntimes()).map(({ name }) => name));
  return KNOWN.map(({ name }) => name).filter((name) => !found.has(name));
}
