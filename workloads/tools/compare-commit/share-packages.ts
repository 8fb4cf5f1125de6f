/** Two working trees of this repository on the same installed packages. */
import { existsSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import path from 'node:path';

const PACKAGES = 'node_modules';
/** Where run.sh remembers what it has installed. */
const STAMP = path.join(PACKAGES, '.set-up-by-run.sh');

/**
 * With other dependencies, the run.sh of `theirs` installs its own. It would also install anew over
 * packages without its stamp, and if they are shared, npm empties the folder of `ours` first.
 */
export async function sharePackages(ours: string, theirs: string): Promise<void> {
  const [wanted, given] = await Promise.all([ours, theirs].map(dependenciesOf));
  if (wanted !== given || !existsSync(path.join(ours, STAMP))) return;
  await symlink(path.join(ours, PACKAGES), path.join(theirs, PACKAGES));
}

/** What run.sh makes the stamp of, besides the platform. */
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
