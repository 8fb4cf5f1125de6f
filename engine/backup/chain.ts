/**
 * The backups of a database in one folder: a full one, and those that go on from it.
 *
 *     0000000000000000-0000000000004711.backup     all that a snapshot at 4711 sees
 *     0000000000004711-0000000000009182.backup     what was committed after it, up to 9182
 *     0000000000009182-0000000000012003.backup
 *
 * The names tell what is in the files, so that a file can be moved, and a missing one is noticed;
 * the first line of each says the same.
 */
import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { PercolatorError } from '../base/index.ts';
import { makeFolder } from '../bigtable/embedded/folder.ts';
import type { Timestamp } from '../bigtable/index.ts';
import type { JsonValue } from '../changes/index.ts';
import { backupLines, onDisk } from './backup-file.ts';

/** A table as it was when the backup was made. */
export interface BackedUpTable {
  readonly table: string;
  /** The storage's name of the incarnation. */
  readonly stored: string;
  readonly observedColumns: readonly string[];
  readonly sharedColumns?: readonly string[] | undefined;
  readonly splits?: readonly string[] | undefined;
}

/** The first line of a file. */
export interface Header {
  readonly percolator: 'backup';
  readonly version: 1;
  /** The identity of the database. */
  readonly database: string;
  /** 0 for a full backup. */
  readonly from: Timestamp;
  readonly to: Timestamp;
  readonly tables: readonly BackedUpTable[];
}

/** A cell, or a change of one. */
export interface CellLine {
  readonly row: string;
  readonly column: string;
  /** Null for a delete, and for an acknowledgment. */
  readonly value: JsonValue | null;
  readonly commit: Timestamp;
  readonly start: Timestamp;
}

/** A line of any kind: each kind has some of the properties. */
export interface BackupLine extends Partial<CellLine> {
  /** The cells that follow are of this table; all that it has, or only its changes. */
  readonly table?: string;
  readonly whole?: boolean;
  /** The cells that follow, each in a line with `pending`, had yet to be seen by observers. */
  readonly pendingIn?: string;
  /** The row of such a cell. */
  readonly pending?: string;
  /** Absent: by all of its observers. */
  readonly observer?: string;
}

export interface BackupFile {
  readonly path: string;
  readonly from: Timestamp;
  readonly to: Timestamp;
}

const DIGITS = 16;
const NAME = /^(\d{16})-(\d{16})\.backup$/;

export function fileIn(folder: string, from: Timestamp, to: Timestamp): string {
  const [first, last] = [from, to].map((one) => String(one).padStart(DIGITS, '0'));
  return join(folder, `${first}-${last}.backup`);
}

/** Makes the folder if there is none. Files that are no backups are left alone. */
export async function filesIn(folder: string): Promise<readonly BackupFile[]> {
  return onDisk(folder, async () => {
    await makeFolder(folder, { fsync: true });
    return listFiles(folder);
  });
}

/** What backups into that folder, or file, have not finished: they run, or were killed. */
export function partialsBeside(path: string): readonly Omit<BackupFile, 'from'>[] {
  const [folder, own] = [dirname(path), basename(path)];
  return readdirSync(folder).flatMap((name) => {
    const [, file = '', to] = /^(.+)\.(\d+)\.partial$/.exec(name) ?? [];
    const isOfSeries = file === own || (NAME.test(file) && NAME.test(own));
    return isOfSeries ? [{ path: join(folder, name), to: Number(to) }] : [];
  });
}

function listFiles(folder: string): readonly BackupFile[] {
  return readdirSync(folder)
    .toSorted()
    .flatMap((name) => {
      const [, from, to] = NAME.exec(name) ?? [];
      const file = { path: join(folder, name), from: Number(from), to: Number(to) };
      return file.from < file.to ? [file] : [];
    });
}

/**
 * A full backup, and those that go on from it, up to the first one that has `at`, or else to the
 * last one. Found from its end, because two that were made at once go on from the same one.
 */
export function chainTo(
  files: readonly BackupFile[],
  at: Timestamp = Infinity,
): readonly BackupFile[] {
  const usable = files
    .filter(({ from, to }) => (from === 0 ? to <= at : from < at))
    .toSorted((a, b) => a.to - b.to);
  const reaching = usable.filter(({ to }) => to >= at);
  const others = usable.filter(({ to }) => to < at).toReversed();
  for (const last of [...reaching, ...others]) {
    const chain = chainUpTo(last, files);
    if (chain !== undefined) return chain;
  }
  return [];
}

/** Undefined if one of them is missing. */
function chainUpTo(
  last: BackupFile,
  files: readonly BackupFile[],
): readonly BackupFile[] | undefined {
  if (last.from === 0) return [last];
  const before = files.find(({ to }) => to === last.from);
  const chain = before && chainUpTo(before, files);
  return chain && [...chain, last];
}

/**
 * The files to read for `at`, of a folder or of a single file, which must be a full backup.
 * @throws INVALID_ARGUMENT if they do not reach `at` or the last backup, or there are none
 */
export function filesFor(path: string, at: Timestamp | undefined): readonly BackupFile[] {
  if (!isFolder(path)) return [{ path, from: 0, to: at ?? Infinity }];
  const files = listFiles(path);
  const newest = files.reduce((most, { to }) => Math.max(most, to), 0);
  const chain = chainTo(files, at);
  const reach = chain.at(-1)?.to ?? 0;
  if (reach > 0 && reach >= (at ?? newest)) return chain;
  const message = `${path} ${whyNot(files, { at, newest, reach })}`;
  throw new PercolatorError('INVALID_ARGUMENT', message);
}

/** An older state than the last backup's is restored only for a caller that asks for it. */
function whyNot(
  files: readonly BackupFile[],
  by: { readonly at: Timestamp | undefined; readonly newest: Timestamp; readonly reach: Timestamp },
): string {
  const { at, newest, reach } = by;
  if (files.length === 0) return 'has no backup';
  const has = `its backups are ${rangesOf(files)}`;
  if (at !== undefined) return `cannot be restored to ${at}: ${has}`;
  if (reach === 0) {
    return `cannot be restored, without the full backup that the others go on from: ${has}`;
  }
  return `cannot be restored to its last backup, up to ${newest}: one that leads to it is missing, and ${reach} is as far as the others reach`;
}

function rangesOf(files: readonly BackupFile[]): string {
  return files
    .map(({ path }) => basename(path, '.backup').replaceAll(/\b0+(?=\d)/g, ''))
    .join(', ');
}

/** @throws INVALID_ARGUMENT if it cannot be read at all */
function isFolder(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined) return found.isDirectory();
  throw new PercolatorError('INVALID_ARGUMENT', `there is no backup ${path}`);
}

/** @throws STORE_DAMAGED if it is no backup */
export async function headerOf(path: string): Promise<Header> {
  for await (const line of backupLines(path)) {
    if (isHeader(line)) return line;
    break;
  }
  throw new PercolatorError('STORE_DAMAGED', `${path} is no backup of this version of the engine`);
}

export function isHeader(line: object): line is Header {
  return (
    'percolator' in line && line.percolator === 'backup' && 'version' in line && line.version === 1
  );
}
