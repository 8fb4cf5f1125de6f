/**
 * Which code a host of a run has: processes of two versions must not meet in one run. The commit
 * alone does not say it where files were changed after it: then their content counts, too.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The repository: programs are named by their paths in it. */
export const ROOT: string = path.resolve(import.meta.dirname, '../../..');

/** What is code of a run, or decides which packages it uses. */
const CODE = ['engine', 'workloads', 'mapreduce-baseline', 'results/report', 'package-lock.json'];
const DIGEST_LENGTH = 12;

/** Of this process, as it began to ask. */
export function codeVersion(): string {
  return (version ??= codeVersionOf(ROOT));
}
let version: string | undefined;

/**
 * The commit; with a digest of all changes of the code that are not in it, if there are any. `an
 * archive` outside a checkout, or without git.
 */
export function codeVersionOf(root: string): string {
  const git = (...words: string[]): string =>
    execFileSync('git', ['-C', root, ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: Infinity,
    }).trim();
  try {
    // In an archive unpacked inside another repository, HEAD would be a commit of that repository.
    if (git('rev-parse', '--show-cdup') !== '') return 'an archive';
    const commit = git('rev-parse', 'HEAD');
    const changed = git('diff', '--name-only', '-z', 'HEAD', '--', ...CODE);
    const added = git('ls-files', '-z', '--others', '--exclude-standard', '--', ...CODE);
    const files = `${changed}\0${added}`.split('\0').filter(Boolean).toSorted();
    if (files.length === 0) return commit;
    // The bytes, and not a diff: its form depends on the settings of each host's user.
    const digest = createHash('sha256');
    for (const file of files) digest.update(`${file}\0`).update(contentOf(path.join(root, file)));
    const shown = digest.digest('hex').slice(0, DIGEST_LENGTH);
    return `${commit} with the uncommitted changes ${shown}`;
  } catch {
    return 'an archive';
  }
}

function contentOf(file: string): string | Buffer {
  return existsSync(file) ? readFileSync(file) : 'it was removed';
}
