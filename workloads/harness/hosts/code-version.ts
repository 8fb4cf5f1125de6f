/**
 * Which code a host of a run has: processes of two versions must not meet in one run. The commit
 * alone does not say it where files were changed after it: then their content counts, too.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The repository: programs are named by their paths in it. */
export const ROOT: string = path.resolve(import.meta.dirname, '../../..');

/** What is code of a run, or decides which packages it uses. */
export const CODE: readonly string[] = [
  'engine',
  'workloads',
  'mapreduce-baseline',
  'results/report',
  'package-lock.json',
];
const DIGEST_LENGTH = 12;

/** Of this process, as it began to ask. */
export function codeVersion(): string {
  return (version ??= codeVersionOf(ROOT));
}
let version: string | undefined;

/**
 * The commit; with a digest of all changes of the code that are not in it, if there are any.
 * Outside a checkout, and where git is missing or refuses, the digest is of all code.
 */
export function codeVersionOf(root: string): string {
  try {
    return checkedOut(root);
  } catch {
    const folders = CODE.map((one) => (path.extname(one) === '' ? `${one}/**/*.*` : one));
    return `an archive with the code ${digestOf(root, globSync(folders, { cwd: root }))}`;
  }
}

/** @throws unless git knows a commit whose root this is */
function checkedOut(root: string): string {
  const git = (...words: string[]): string =>
    execFileSync('git', ['-C', root, ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: Infinity,
    }).trim();
  // In an archive unpacked inside another repository, HEAD would be a commit of that repository.
  if (git('rev-parse', '--show-cdup') !== '') throw new Error('It is part of another checkout.');
  const commit = git('rev-parse', 'HEAD');
  const changed = git('diff', '--name-only', '-z', 'HEAD', '--', ...CODE);
  const added = git('ls-files', '-z', '--others', '--exclude-standard', '--', ...CODE);
  const files = `${changed}\0${added}`.split('\0').filter(Boolean);
  return files.length === 0
    ? commit
    : `${commit} with the uncommitted changes ${digestOf(root, files)}`;
}

/** Of the bytes, and not of a diff: its form depends on the settings of each host's user. */
function digestOf(root: string, files: readonly string[]): string {
  const digest = createHash('sha256');
  for (const file of files.toSorted()) {
    digest.update(`${file}\0`).update(contentOf(path.join(root, file)));
  }
  return digest.digest('hex').slice(0, DIGEST_LENGTH);
}

function contentOf(file: string): string | Buffer {
  return existsSync(file) ? readFileSync(file) : 'it was removed';
}
