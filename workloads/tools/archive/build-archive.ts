/**
 * An archive with which the project is installed where there is no network:
 *
 *     percolator-bench-<version>-<commit>-<platform>/
 *       repository.bundle   the repository at a commit, with its history (git bundle)
 *       node_modules.tar    the installed packages, which are those of one platform
 *       install.sh          installs both into a folder
 *       SHA256SUMS          of the three
 *
 * Packages are packed as they are installed, Node.js among them, so neither npm nor a registry is
 * needed later. HBase, Hadoop and Java are not in it.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { cp, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { execa, type ExecaError } from 'execa';
import { UsageError } from '#harness';
import packageJson from '../../../package.json' with { type: 'json' };
import { ROOT } from '../../harness/hosts/code-version.ts';

const INSTALLER = path.join(import.meta.dirname, 'install.sh');
const [BUNDLE, PACKAGES, INSTALL, SUMS] = [
  'repository.bundle',
  'node_modules.tar',
  'install.sh',
  'SHA256SUMS',
] as const;

/**
 * Makes the archive's folder in `out`, and resolves to its path. Until it is whole, it has another
 * name; what an interrupt leaves is removed.
 * @throws UsageError outside of a git checkout, or if the folder is there
 */
export async function buildArchive(out: string, signal: AbortSignal): Promise<string> {
  const commit = await git('rev-parse', '--short=7', 'HEAD');
  const { name, version } = packageJson;
  const platform = `${process.platform}-${process.arch}`;
  const folder = path.join(out, `${name}-${version}-${commit}-${platform}`);
  refuseExisting(folder);
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  try {
    const at = (file: string): string => path.join(partial, file);
    await git('bundle', 'create', '--quiet', at(BUNDLE), 'HEAD');
    await execa(
      'tar',
      ['--create', '--file', at(PACKAGES), '--exclude', 'node_modules/.cache', 'node_modules'],
      { cwd: ROOT, cancelSignal: signal },
    );
    await cp(INSTALLER, at(INSTALL));
    const lines: string[] = [];
    for (const file of [BUNDLE, PACKAGES, INSTALL]) {
      lines.push(`${await digestOf(at(file))}  ${file}\n`);
      signal.throwIfAborted();
    }
    await writeFile(at(SUMS), lines.join(''));
    await rename(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
  return folder;
}

function refuseExisting(folder: string): void {
  if (!existsSync(folder)) return;
  throw new UsageError(`--out already holds an archive of this commit, ${folder}.`);
}

async function git(...words: readonly string[]): Promise<string> {
  try {
    return (await execa('git', words, { cwd: ROOT })).stdout;
  } catch (error) {
    const { stderr, code } = error as ExecaError;
    const reason = code === 'ENOENT' ? 'git is missing' : `git ${words[0]}: ${String(stderr)}`;
    throw new UsageError(
      `An archive holds the repository at a commit, which git cannot give: ${reason}`,
      { cause: error },
    );
  }
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
