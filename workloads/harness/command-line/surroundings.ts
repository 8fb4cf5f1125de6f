/**
 * Checks of the machine before a script begins: a path that it was given can be written, or read;
 * and what every script needs. Otherwise it would fail in the middle of a measurement, with an
 * error of the system.
 *
 * Permission bits do not say what can be written: root passes every `access`, but a read-only mount
 * or `/proc` still refuses the write. So each check tries the operation and undoes it.
 */
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmdirSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { UsageError } from '#results';

/** Throws unless `folder` could be created and written now. Leaves no files and no folders. */
export function checkFolderWritable(name: string, folder: string): void {
  const tryIt = (): void => {
    const missing = missingFolders(path.resolve(folder));
    try {
      for (const one of missing.toReversed()) makeFolder(one);
      rmdirSync(mkdtempSync(path.join(folder, '.writable-')));
    } finally {
      for (const one of missing) removeIfEmpty(one);
    }
  };
  const sentence = `${name} must be a folder that can be written, but ${JSON.stringify(folder)}`;
  const ENOENT = existsSync(folder) ? 'takes no files' : 'cannot be created';
  attempt(sentence, tryIt, { ...REASONS, ENOENT });
}

/** Throws if `folder` exists and is not empty: results are never overwritten. */
export function checkFolderNew(name: string, folder: string): void {
  const [first] = isThere(folder) ? readdirSync(folder) : [];
  if (first === undefined) return;
  throw new UsageError(
    `${name} must be a new or an empty folder, because results are never overwritten, but ` +
      `${JSON.stringify(folder)} holds ${first}.`,
  );
}

/** Throws unless `file` can be opened for reading and has an end. */
export function checkReadableFile(name: string, file: string): void {
  attempt(`${name} must be a file that can be read, but ${JSON.stringify(file)}`, () => {
    const found = statSync(file);
    if (found.isDirectory()) throw new Error('is a folder');
    // To open a pipe may wait forever, and a device may have no end.
    if (!found.isFile()) throw new Error('is not a regular file');
    closeSync(openSync(file, 'r'));
  });
}

/** Throws unless `folder`, which must be `expected`, is a folder that can be listed. */
export function checkReadableFolder(
  name: string,
  folder: string,
  expected = 'a folder that can be read',
): void {
  attempt(`${name} must be ${expected}, but ${JSON.stringify(folder)}`, () => {
    readdirSync(folder);
  });
}

/** Runs `action`; if it fails, throws a UsageError: the sentence, and the reason of the system. */
function attempt(sentence: string, action: () => void, reasons: Reasons = REASONS): void {
  try {
    action();
  } catch (error) {
    throw new UsageError(`${sentence} ${reasonOf(error, reasons)}.`, { cause: error });
  }
}

/** The system's reason, in words that continue "but <path> ...". */
function reasonOf(error: unknown, reasons: Reasons): string {
  if (!(error instanceof Error)) return `cannot be used (${String(error)})`;
  if (!('code' in error)) return error.message;
  return reasons[String(error.code)] ?? `cannot be used (${error.message})`;
}

/** By the code of the system's error. */
type Reasons = Readonly<Record<string, string>>;

const REASONS: Reasons = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a folder, or lies below a file',
  ELOOP: 'is a symbolic link to itself',
  ENAMETOOLONG: 'is too long',
  EACCES: 'is not permitted to this user',
  EPERM: 'is not permitted to this user',
  EROFS: 'lies on a read-only file system',
  ENOSPC: 'lies on a full disk',
};

/** The folders of the path that do not exist, the deepest first. */
function missingFolders(folder: string): readonly string[] {
  return isThere(folder) ? [] : [folder, ...missingFolders(path.dirname(folder))];
}

/** Also true for a symbolic link to nothing, in whose place no folder can be created. */
function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

/** Not recursive: below /proc, Node's recursive mkdir never returns. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (!isThere(folder)) throw error; // Otherwise another process was faster.
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It was not created, or another process has put a file into it.
  }
}

/** The smallest limit that systems have by default (macOS). With 24, libraries in C crash. */
const OPEN_FILES_MIN = 256;

export function checkSurroundings(): void {
  checkTemporaryFolder();
  checkOpenFiles();
}

/** Checks only a folder that the user has chosen, because most scripts need none. */
function checkTemporaryFolder(): void {
  const folder = process.env['TMPDIR'] ?? '';
  if (folder === '') return;
  attempt(`TMPDIR must be a folder that can be written, but ${JSON.stringify(folder)}`, () =>
    rmdirSync(mkdtempSync(path.join(tmpdir(), 'writable-'))),
  );
}

/** Node has raised its limit as far as it may. */
function checkOpenFiles(): void {
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  report.excludeNetwork = true; // Otherwise it would ask a name server.
  const { userLimits } = report.getReport() as unknown as LimitsReport;
  const limit = userLimits?.open_files?.soft;
  if (typeof limit !== 'number' || limit >= OPEN_FILES_MIN) return;
  throw new UsageError(
    `The limit of open files must be at least ${OPEN_FILES_MIN}, but is ${limit}: raise it, with ulimit -n 1024.`,
  );
}

/** A limit is a number, or "unlimited". */
interface LimitsReport {
  readonly userLimits?: { readonly open_files?: { readonly soft: unknown } };
}
