/**
 * A disk in memory that fails as disks do, for the embedded store (bigtable/embedded/disk.ts).
 *
 *     write ─▶ the system's memory: read by every program ─┬─ sync ─▶ on the disk
 *                                                          └─ power cut ─▶ lost, kept, or torn
 *
 * `afterPowerCut` is the disk that the next start finds. Each sector of an unsynced write is there,
 * is missing or holds garbage, in any combination; each unsynced change of a name is there or
 * missing. A sync that fails has made some sectors durable, and no later sync does so for the
 * others, though programs go on reading them: Linux behaves in this way.
 *
 * It is one owner's view of the store's folder. `takeOver` is the next owner's: the system then
 * refuses what the first one does with names, and still writes to the files that it has open. Other
 * programs may remove or replace files, and move the folder. A view can be told to stand still
 * before any operation and after it, for as long as the test likes.
 *
 * All chance comes from the given `Random`.
 */
import type { PercolatorError, Random } from '../base/index.ts';
import { closedBecause, type Disk, type DiskFile } from '../bigtable/embedded/disk.ts';

export type DiskOperation = 'create' | 'write' | 'sync' | 'rename' | 'remove' | 'syncNames';
/** Before and after a write, before and after a sync. */
export type PausedMoment = 'write' | 'written' | 'sync' | 'synced';
export type DiskFailure = 'EIO' | 'ENOSPC';

export interface SimulatedDiskOptions {
  readonly random: Random;
  /** Called before each operation; may make it fail. */
  readonly before?:
    | ((operation: DiskOperation, name: string) => DiskFailure | undefined)
    | undefined;
  /** Called in the course of each write and sync of a file, which goes on when it resolves. */
  readonly pause?: ((moment: PausedMoment, name: string) => Promise<void>) | undefined;
}

const SECTOR_BYTES = 512;

interface DiskWrite {
  readonly offset: number;
  readonly bytes: Buffer;
}

/** The content of a file, whatever its name. */
class DiskContent {
  /** As programs read it. */
  current: Buffer = Buffer.alloc(0);
  /** As it is on the disk. */
  durable: Buffer = Buffer.alloc(0);
  /** Not synced, in order. */
  unsynced: DiskWrite[] = [];
}

interface SimulatedFile extends DiskFile {
  readonly content: DiskContent;
}

/** A change of names that was not synced. */
interface NameChange {
  readonly apply: (names: Map<string, DiskContent>) => void;
}

/** What all views of a folder share. */
class DiskFolder {
  readonly names: Map<string, DiskContent>;
  /** As on the disk. */
  durableNames: Map<string, DiskContent>;
  changes: NameChange[] = [];

  constructor(contents: readonly [string, DiskContent][]) {
    this.names = new Map(contents);
    this.durableNames = new Map(contents);
  }
}

export class SimulatedDisk implements Disk {
  /** The bytes that all files together may have; then a write is cut short and fails. */
  roomBytes: number = Infinity;
  readonly #random: Random;
  #folder: DiskFolder;
  #before: NonNullable<SimulatedDiskOptions['before']>;
  readonly #pause: NonNullable<SimulatedDiskOptions['pause']>;
  /** Whether the owner's name for the folder still leads to it. */
  #isOwned = true;

  constructor(
    { random, before, pause }: SimulatedDiskOptions,
    files: Iterable<[string, Buffer]> = [],
  ) {
    this.#random = random;
    this.#before = before ?? (() => undefined);
    this.#pause = pause ?? (() => Promise.resolve());
    const contents = Array.from(files, ([name, bytes]): [string, DiskContent] => {
      const content = new DiskContent();
      content.current = bytes;
      content.durable = bytes;
      return [name, content];
    });
    this.#folder = new DiskFolder(contents);
  }

  /** The next owner's view of the same folder. */
  takeOver(options: SimulatedDiskOptions): SimulatedDisk {
    const next = new SimulatedDisk(options);
    next.#folder = this.#folder;
    this.move();
    return next;
  }

  /** Another program moves or removes the folder. */
  move(): void {
    this.#isOwned = false;
  }

  /** Another program puts a file of its own in the place of this one, or nothing. */
  replace(name: string, bytes: Buffer | undefined): void {
    const content = new DiskContent();
    content.current = bytes ?? content.current;
    this.#change((names) => {
      if (bytes === undefined) names.delete(name);
      else names.set(name, content);
    });
  }

  lost(files: readonly (readonly [name: string, file: DiskFile])[]): PercolatorError | undefined {
    if (!this.#isOwned) return closedBecause('another simulated process has taken over the store');
    const gone = files.find(
      ([name, file]) => this.#names.get(name) !== (file as SimulatedFile).content,
    );
    return gone && closedBecause(`another program removed or replaced ${gone[0]}`);
  }

  close(): void {}

  get #names(): Map<string, DiskContent> {
    return this.#folder.names;
  }

  set before(before: NonNullable<SimulatedDiskOptions['before']>) {
    this.#before = before;
  }

  names(): readonly string[] {
    return [...this.#names.keys()];
  }

  open(name: string): DiskFile {
    const content = this.#names.get(name);
    if (content === undefined) throw failure('ENOENT', name);
    return this.#file(name, content);
  }

  create(name: string): DiskFile {
    this.#assertOwned();
    this.#check('create', name);
    if (this.#names.has(name)) throw failure('EEXIST', name);
    const content = new DiskContent();
    this.#change((names) => names.set(name, content));
    return this.#file(name, content);
  }

  rename(from: string, to: string): void {
    this.#assertOwned();
    this.#check('rename', from);
    const content = this.#names.get(from);
    if (content === undefined) throw failure('ENOENT', from);
    this.#change((names) => names.delete(from) && names.set(to, content));
  }

  remove(name: string): void {
    this.#assertOwned();
    this.#check('remove', name);
    if (!this.#names.has(name)) throw failure('ENOENT', name);
    this.#change((names) => names.delete(name));
  }

  async sync(): Promise<void> {
    await this.#pass();
    this.#check('syncNames', '');
    this.#assertOwned();
    this.#folder.durableNames = new Map(this.#names);
    this.#folder.changes = [];
  }

  /** The files as programs read them. */
  files(): Map<string, Buffer> {
    return new Map(Array.from(this.#names, ([name, { current }]) => [name, current]));
  }

  /** The files as they are after the power has failed now. Does not change this disk. */
  afterPowerCut(random: Random): Map<string, Buffer> {
    const names = new Map(this.#folder.durableNames);
    const luck = random.integer(0, 3);
    for (const { apply } of this.#folder.changes) if (isKept(random, luck)) apply(names);
    return new Map(Array.from(names, ([name, content]) => [name, torn(content, random)]));
  }

  #change(apply: (names: Map<string, DiskContent>) => void): void {
    apply(this.#names);
    this.#folder.changes.push({ apply });
  }

  #assertOwned(): void {
    const error = this.lost([]);
    if (error !== undefined) throw error;
  }

  #check(operation: DiskOperation, name: string): void {
    const failed = this.#before(operation, name);
    if (failed !== undefined) throw failure(failed, `${operation} ${name}`);
  }

  /** Time passes, in which other callers run. */
  async #pass(): Promise<void> {
    for (let i = this.#random.integer(0, 8); i >= 0; i--) await Promise.resolve();
  }

  #file(name: string, content: DiskContent): SimulatedFile {
    return {
      content,
      size: () => content.current.length,
      read: (target, position) => content.current.copy(target, 0, position),
      write: (bytes, position) => this.#write(name, content, { bytes, position }),
      sync: () => this.#sync(name, content),
      // Never durable: a power cut may bring back what was cut off, even after a sync.
      truncate: (size) => {
        content.current = content.current.subarray(0, size);
      },
      close: () => {},
    };
  }

  async #write(
    name: string,
    content: DiskContent,
    { bytes, position }: { readonly bytes: Uint8Array; readonly position: number },
  ): Promise<void> {
    await this.#pause('write', name);
    const free = this.#freeAfter(content, position);
    const failed = this.#before('write', name) ?? (bytes.length > free ? 'ENOSPC' : undefined);
    const most = Math.min(bytes.length - 1, free);
    const done = failed === undefined ? bytes.length : this.#random.integer(0, most);
    const write = { offset: position, bytes: Buffer.from(bytes.subarray(0, done)) };
    content.current = written(content.current, write);
    content.unsynced.push(write);
    await this.#pass();
    await this.#pause('written', name);
    if (failed !== undefined) throw failure(failed, `write ${name}`);
  }

  /** How many bytes fit into the file from the position on. */
  #freeAfter(content: DiskContent, position: number): number {
    let used = 0;
    for (const one of this.#names.values()) {
      used += one === content ? Math.min(position, one.current.length) : one.current.length;
    }
    return Math.max(0, this.roomBytes - used);
  }

  async #sync(name: string, content: DiskContent): Promise<void> {
    await this.#pass();
    await this.#pause('sync', name);
    const failed = this.#before('sync', name);
    const writes = content.unsynced;
    content.unsynced = [];
    if (failed === undefined) {
      for (const write of writes) content.durable = written(content.durable, write);
      await this.#pause('synced', name);
      return;
    }
    content.durable = tornBy(content.durable, writes, this.#random);
    throw failure(failed, `sync ${name}`);
  }
}

function torn({ durable, unsynced }: DiskContent, random: Random): Buffer {
  return tornBy(durable, unsynced, random);
}

function tornBy(durable: Buffer, writes: readonly DiskWrite[], random: Random): Buffer {
  const luck = random.integer(0, 3);
  if (writes.length === 0) return durable; // Bytes of a file are never changed in place.
  const ends = writes.map(({ offset, bytes }) => offset + bytes.length);
  const content = Buffer.alloc(Math.max(durable.length, ...ends));
  let size = durable.copy(content);
  const put = ({ offset, bytes }: DiskWrite): void => {
    size = Math.max(size, offset + bytes.copy(content, offset));
  };
  for (const { offset, bytes } of writes) {
    for (let from = 0; from < bytes.length;) {
      const end = Math.min(bytes.length, from + SECTOR_BYTES - ((offset + from) % SECTOR_BYTES));
      const sector = { offset: offset + from, bytes: bytes.subarray(from, end) };
      if (isKept(random, luck)) put(sector);
      else if (random.integer(0, 7) === 0) put(garbage(sector, random));
      from = end;
    }
  }
  return content.subarray(0, size);
}

/** @param luck 0: nothing is kept, 1: everything; otherwise each on its own */
function isKept(random: Random, luck: number): boolean {
  return luck === 1 || (luck > 1 && random.integer(0, luck - 1) === 0);
}

function garbage({ offset, bytes }: DiskWrite, random: Random): DiskWrite {
  const isZero = random.integer(0, 1) === 0;
  const change = (byte: number): number => (isZero ? 0 : byte ^ random.integer(0, 255));
  return { offset, bytes: Buffer.from(Array.from(bytes, change)) };
}

function written(content: Buffer, { offset, bytes }: DiskWrite): Buffer {
  const changed = Buffer.alloc(Math.max(content.length, offset + bytes.length));
  content.copy(changed);
  bytes.copy(changed, offset);
  return changed;
}

function failure(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: simulated, ${what}`), { code });
}
