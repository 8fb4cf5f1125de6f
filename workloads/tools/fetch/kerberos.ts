/**
 * Puts the package kerberos where the HBase client finds it. It is no dependency of this project,
 * because npm needs a compiler for it on machines for which it has no compiled part.
 */
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { runNpm } from '../run-npm.ts';

const NAME = 'kerberos';
const VERSION = '7.0.0';
const MODULES = path.resolve(import.meta.dirname, '../../../node_modules');

/**
 * Does nothing if it is in `modules` already.
 * @throws what npm says if it cannot be fetched; a sentence if it does not load where it is then
 */
export async function fetchKerberos(modules: string = MODULES): Promise<void> {
  const place = path.join(modules, NAME);
  if ((await whyNotLoaded(place)) === undefined) return;
  await mkdir(path.join(modules, '.cache'), { recursive: true });
  const folder = await mkdtemp(path.join(modules, '.cache', `${NAME}-`));
  try {
    const wanted = { dependencies: { [NAME]: VERSION }, allowScripts: { [NAME]: true } };
    await writeFile(path.join(folder, 'package.json'), JSON.stringify(wanted));
    await runNpm(['install', '--no-audit', '--no-fund'], `fetch ${NAME}`, { cwd: folder });
    await rm(place, { recursive: true, force: true });
    await rename(path.join(folder, 'node_modules', NAME), place);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  // What it needs of other packages, or of this machine, may be missing there.
  const why = await whyNotLoaded(place);
  if (why === undefined) return;
  await rm(place, { recursive: true, force: true });
  throw new Error(`it was fetched, and does not load: ${why}`);
}

async function whyNotLoaded(place: string): Promise<string | undefined> {
  const program = `try { require(${JSON.stringify(place)}); } catch ({ message }) { console.log(message); process.exit(1); }`;
  const { failed, stdout } = await execa(process.execPath, ['-e', program], { reject: false });
  return failed ? (stdout.split('\n')[0] ?? '') : undefined;
}
