/**
 * Checks of a path before a run begins: it can be written, or it can be read.
 *
 * Permission bits do not answer this: root passes every `access`, but a read-only mount or `/proc`
 * still refuses the write. So each check tries the operation and undoes it.
 */
import { accessSync, closeSync, constants, existsSync, mkdtempSync, openSync } from 'node:fs';
import { readdirSync, rmdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '#results';

/** Throws unless `folder` could be created and written now. Leaves no files. */
export function checkFolderWritable(name: string, folder: string, mustNotHold?: string): void {
  const existing = nearestExisting(path.resolve(folder));
  attempt(`${name} must be a folder that can be written, but ${JSON.stringify(folder)}`, () => {
    if (!statSync(existing).isDirectory()) throw new Error(`${path.basename(existing)} is a file`);
    accessSync(existing, constants.W_OK);
    rmdirSync(mkdtempSync(path.join(existing, '.writable-')));
  });
  if (mustNotHold === undefined || !existsSync(path.join(folder, mustNotHold))) return;
  throw new UsageError(
    `${name} must be a new folder, because results are never overwritten, but ` +
      `${JSON.stringify(folder)} already holds a ${mustNotHold}.`,
  );
}

/** Throws unless `file` is a file that can be opened for reading. */
export function checkReadableFile(name: string, file: string): void {
  attempt(`${name} must be a file that can be read, but ${JSON.stringify(file)}`, () => {
    if (statSync(file).isDirectory()) throw new Error('it is a folder');
    closeSync(openSync(file, 'r'));
  });
}

/** Throws unless `folder` is a folder that can be listed. */
export function checkReadableFolder(name: string, folder: string): void {
  attempt(`${name} must be a folder that can be read, but ${JSON.stringify(folder)}`, () => {
    readdirSync(folder);
  });
}

function attempt(sentence: string, action: () => void): void {
  try {
    action();
  } catch (error) {
    throw new UsageError(`${sentence} ${reasonOf(error)}.`, { cause: error });
  }
}

/** The system's reason, in words that continue "but <path> ...". */
function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const message = error instanceof Error ? error.message : String(error);
  return REASONS[code] ?? `cannot be used (${message})`;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist, or cannot be created',
  ENOTDIR: 'is not a folder, or lies below a file',
  EACCES: 'is not permitted to this user',
  EPERM: 'is not permitted to this user',
  EROFS: 'lies on a read-only file system',
};

function nearestExisting(folder: string): string {
  const parent = path.dirname(folder);
  return existsSync(folder) || parent === folder ? folder : nearestExisting(parent);
}
