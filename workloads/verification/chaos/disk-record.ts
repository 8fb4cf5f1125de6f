/**
 * Records what a store asks of its disk, where it calls the system: which files it made, renamed
 * and removed, and how much of each was synced. From the record, power-cut.ts makes what a power
 * failure would have left.
 *
 *     store ─▶ fs.openSync, renameSync, rmSync, fdatasync ... ─▶ the system
 *                └─ a line of the record for each call; for each file a second name, which stays
 *
 * It changes functions of Node's `fs` in this process, and nothing in the store: a store that
 * syncs too little, or wrongly believes that it syncs, is recorded as it is. A line about a sync is
 * written when the sync has returned, and before the store hears of it. A change of names may be
 * done and not yet recorded when the process is killed; so the next owner's first look at the
 * folder is recorded, too.
 *
 * A file is known by its inode number. Its second name keeps the system from using the number
 * again.
 */
import fs from 'node:fs';
import path from 'node:path';
import { pid } from 'node:process';

/** One line of the record. */
export type DiskLine =
  /** The files that an owner found when it opened the folder. */
  | { readonly kind: 'found'; readonly files: Readonly<Record<string, number>> }
  | { readonly kind: 'created'; readonly name: string; readonly file: number }
  | { readonly kind: 'renamed'; readonly from: string; readonly to: string }
  | { readonly kind: 'removed'; readonly name: string }
  /** So many bytes of the file, from its start, were synced. */
  | { readonly kind: 'synced'; readonly file: number; readonly bytes: number }
  /** A sync of the names has begun, or has ended; each has an id. */
  | { readonly kind: 'syncing names' | 'synced names'; readonly sync: string };

/** Files that hold nothing of the store: the owner's address, and the room for a full disk. */
const NOT_OF_THE_LOG: ReadonlySet<string> = new Set(['socket-at', 'socket-at.new', 'reserve']);

/** The file with the lines, in the folder of the record. */
export function recordOf(record: string): string {
  return path.join(record, 'disk.jsonl');
}

/** The second name of a file. */
export function secondName(record: string, file: number): string {
  return path.join(record, 'files', String(file));
}

/**
 * Records what this process does in the folder of a store, until disposed of.
 * @param givenRecord a folder on the same file system, for the record
 */
export function recordDisk(givenFolder: string, givenRecord: string): Disposable {
  // The store names its files by absolute paths.
  const [folder, record] = [path.resolve(givenFolder), path.resolve(givenRecord)];
  fs.mkdirSync(path.join(record, 'files'), { recursive: true });
  const lines = fs.openSync(recordOf(record), 'a');
  const note = (line: DiskLine): void => void fs.writeSync(lines, `${JSON.stringify(line)}\n`);
  const replaced = replacements(folder, record, note);
  const before = Object.keys(replaced).map((name) => [name, fs[name as keyof typeof fs]]);
  const { open } = fs.promises;
  Object.assign(fs, replaced);
  fs.promises.open = openingFolder(folder, note);
  return {
    [Symbol.dispose]: () => {
      Object.assign(fs, Object.fromEntries(before));
      fs.promises.open = open;
      fs.closeSync(lines);
    },
  };
}

type Note = (line: DiskLine) => void;

/** A path may go through an open folder. */
function folderOf(file: string): string {
  const folder = path.dirname(file);
  return folder.startsWith('/proc/self/fd/') ? fs.readlinkSync(folder) : folder;
}

/** The owner names the folder of the store, in the folder that the user has given. */
function isStoreOf(folder: string, store: string): boolean {
  return path.dirname(store) === folder && /^store(\.|$)/.test(path.basename(store));
}

/** The functions by which the store changes its folder (engine/bigtable/embedded/disk.ts). */
function replacements(folder: string, record: string, note: Note): Partial<typeof fs> {
  const { openSync, closeSync, renameSync, rmSync, readdirSync, fdatasync } = fs;
  /** Inode numbers of the open files, by descriptor. */
  const files = new Map<number, number>();
  const nameOf = (file: fs.PathLike): string | undefined => {
    const name = path.basename(String(file));
    const isRecorded = isStoreOf(folder, folderOf(String(file))) && !NOT_OF_THE_LOG.has(name);
    return isRecorded ? name : undefined;
  };
  return {
    openSync: (file, flags, mode) => {
      const opened = openSync(file, flags, mode);
      const name = nameOf(file);
      if (name === undefined) return opened;
      const { ino } = fs.fstatSync(opened);
      files.set(opened, ino);
      if (flags === 'r') return opened;
      fs.linkSync(file, secondName(record, ino));
      note({ kind: 'created', name, file: ino });
      return opened;
    },
    closeSync: (opened) => {
      files.delete(opened);
      closeSync(opened);
    },
    renameSync: (from, to) => {
      renameSync(from, to);
      const names = { from: nameOf(from), to: nameOf(to) };
      if (names.from === undefined || names.to === undefined) return;
      note({ kind: 'renamed', from: names.from, to: names.to });
    },
    rmSync: (file, options) => {
      rmSync(file, options);
      const name = nameOf(file);
      if (name !== undefined) note({ kind: 'removed', name });
    },
    readdirSync: ((file: string, ...others: []) => {
      const names = readdirSync(file, ...others);
      if (isStoreOf(folder, file)) note({ kind: 'found', files: filesOf(file, record, names) });
      return names;
    }) as typeof readdirSync,
    fdatasync: ((opened: number, done: (error: Error | null) => void) => {
      const file = files.get(opened);
      const bytes = file === undefined ? 0 : fs.fstatSync(opened).size;
      fdatasync(opened, (error) => {
        if (file !== undefined && error === null) note({ kind: 'synced', file, bytes });
        done(error);
      });
    }) as typeof fdatasync,
  };
}

/**
 * The inode numbers of the named files. Gives a second name to a file whose owner had no time to
 * record it.
 */
function filesOf(
  folder: string,
  record: string,
  names: readonly string[],
): Readonly<Record<string, number>> {
  const files: Record<string, number> = {};
  for (const name of names) {
    const stats = fs.statSync(path.join(folder, name));
    if (!stats.isFile() || NOT_OF_THE_LOG.has(name)) continue;
    files[name] = stats.ino;
    const second = secondName(record, stats.ino);
    if (!fs.existsSync(second)) fs.linkSync(path.join(folder, name), second);
  }
  return files;
}

/** In place of `fs.promises.open`, by which the store opens its folder to sync the names in it. */
function openingFolder(folder: string, note: Note): typeof fs.promises.open {
  const { open } = fs.promises;
  let syncs = 0;
  return async (file, flags, mode) => {
    const handle = await open(file, flags, mode);
    if (!isStoreOf(folder, path.resolve(String(file)))) return handle;
    const sync = handle.sync.bind(handle);
    handle.sync = async () => {
      const id = `${pid}-${syncs++}`;
      note({ kind: 'syncing names', sync: id });
      await sync();
      note({ kind: 'synced names', sync: id });
    };
    return handle;
  };
}
