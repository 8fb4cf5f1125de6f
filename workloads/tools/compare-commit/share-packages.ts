/** Two working trees of this repository on the same installed packages. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';

const PACKAGES = 'node_modules';
/** Where run.sh remembers what it has installed. */
const STAMP = path.join(PACKAGES, '.set-up-by-run.sh');

/**
 * Links the packages of `ours` into `theirs`, if the run.sh of `theirs` would install the same.
 *
 * node_modules of `theirs` is a folder of links, not a link. Git ignores only a folder of that
 * name: with a link, records would say that `theirs` has changes. And if run.sh finds another
 * stamp, npm ci first empties the folder: with a link, that of `ours`.
 */
export async function sharePackages(ours: string, theirs: string): Promise<void> {
  const [wanted, given] = await Promise.all([ours, theirs].map(dependenciesOf));
  if (wanted !== given || !existsSync(path.join(ours, STAMP))) return;
  const [from, to] = [path.join(ours, PACKAGES), path.join(theirs, PACKAGES)];
  await mkdir(to);
  const names = await readdir(from);
  await Promise.all(names.map((name) => symlink(path.join(from, name), path.join(to, name))));
}

/** All that the stamp of run.sh depends on, except the platform. */
async function dependenciesOf(tree: string): Promise<string> {
  const [lockfile, project] = await Promise.all(
    ['package-lock.json', 'package.json'].map((file) => readFile(path.join(tree, file), 'utf8')),
  );
  const { dependencies, devDependencies, allowScripts } = JSON.parse(project ?? '') as Project;
  return JSON.stringify([lockfile, dependencies, devDependencies, allowScripts]);
}

type Project = Readonly<
  Record<'dependencies' | 'devDependencies' | 'allowScripts', object | undefined>
>;
