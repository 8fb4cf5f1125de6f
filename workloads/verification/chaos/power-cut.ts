/**
 * What a power failure would have left of a store's folder, at the moment when its processes were
 * killed: from the record of disk-record.ts, and a seed.
 *
 *     synced                                           is there
 *     written, but not synced                          each sector is there, or not, or garbage
 *     changes of names since the last sync of names    each is there, or not
 *
 * The simulated disk of the engine's own tests decides the fate of what was not synced, so chaos
 * has the same faults as these tests. A sync that the system had not finished does not count.
 */
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { Random } from '#engine';
import { SimulatedDisk } from '#engine/testing';
import { assert } from '../../../engine/base/index.ts';
import { type DiskLine, recordOf, secondName } from './disk-record.ts';

/** What the cut could destroy, and what it destroyed. */
export interface PowerCut {
  /** Bytes that were written and not synced. */
  readonly bytesAtRisk: number;
  /**
   * Bytes that are not there, or are not what was written. Includes synced bytes of files whose
   * name is gone.
   */
  readonly bytesLost: number;
  /** Changes of names since the last sync of names. */
  readonly namesAtRisk: number;
}

/** The end of the record that has its last syncs, in bytes. */
const TAIL_BYTES = 16_384;

type InodesByName = Map<string, number>;
type NameChange = Extract<DiskLine, { readonly kind: 'created' | 'renamed' | 'removed' }>;

/** Writes to the folder `to` what is left. */
export async function cutPower(record: string, to: string, random: Random): Promise<PowerCut> {
  const lines = linesOf(record);
  assert(
    lines.some(({ kind }) => kind === 'found'),
    'an owner has looked at the folder',
  );
  const { names, changes, synced } = replay(lines);
  const contentOf = (file: number): SyncedContent => {
    const bytes = readFileSync(secondName(record, file));
    return { bytes, synced: Math.min(synced.get(file) ?? 0, bytes.length) };
  };
  const durable = Array.from(names, ([name, file]): [string, SyncedContent] => [
    name,
    contentOf(file),
  ]);
  const disk = new SimulatedDisk(
    { random: random.fork('disk') },
    durable.map(([name, content]) => [name, content.bytes.subarray(0, content.synced)]),
  );
  let bytesAtRisk = 0;
  for (const [name, { bytes, synced: from }] of durable) {
    bytesAtRisk += bytes.length - from;
    await disk.open(name).write(bytes.subarray(from), from);
  }
  for (const change of changes) {
    if (change.kind === 'renamed') disk.rename(change.from, change.to);
    if (change.kind === 'removed') disk.remove(change.name);
    if (change.kind !== 'created') continue;
    const { bytes, synced: from } = contentOf(change.file);
    const file = disk.create(change.name);
    bytesAtRisk += bytes.length - from;
    await file.write(bytes.subarray(0, from), 0);
    await file.sync();
    await file.write(bytes.subarray(from), from);
  }
  const left = disk.afterPowerCut(random);
  mkdirSync(to, { recursive: true });
  for (const [name, bytes] of left) writeFileSync(path.join(to, name), bytes);
  const bytesLost = lostBetween(disk.files(), left);
  return { bytesAtRisk, bytesLost, namesAtRisk: changes.length };
}

/** Whether the file that was synced last has bytes that were not synced. */
export function hasUnsyncedBytes(record: string): boolean {
  const file = openSync(recordOf(record), 'r');
  try {
    const end = fstatSync(file).size;
    const tail = Buffer.alloc(Math.min(end, TAIL_BYTES));
    readSync(file, tail, 0, tail.length, end - tail.length);
    const lines = tail.toString('latin1').split('\n').slice(1, -1);
    const last = lines.findLast((line) => line.startsWith('{"kind":"synced"'));
    if (last === undefined) return false;
    const synced = JSON.parse(last) as Extract<DiskLine, { readonly kind: 'synced' }>;
    return statSync(secondName(record, synced.file)).size > synced.bytes;
  } finally {
    closeSync(file);
  }
}

interface SyncedContent {
  readonly bytes: Buffer;
  /** So many of them, from the start, are certainly on the disk. */
  readonly synced: number;
}

interface Replayed {
  /** The durable names. */
  readonly names: InodesByName;
  /** Changes of names that are not durable yet, in order. */
  readonly changes: readonly NameChange[];
  /** For each file, how many bytes were synced. */
  readonly synced: ReadonlyMap<number, number>;
}

function replay(lines: readonly DiskLine[]): Replayed {
  const all: NameChange[] = [];
  const synced = new Map<number, number>();
  /** How many changes a sync of names makes durable when it has ended. */
  const covered = new Map<string, number>();
  let durable = 0;
  for (const line of lines) {
    switch (line.kind) {
      case 'found':
        all.push(...unrecorded(applied(new Map(), all), line.files));
        break;
      case 'created':
      case 'renamed':
      case 'removed':
        all.push(line);
        break;
      case 'synced':
        synced.set(line.file, Math.max(line.bytes, synced.get(line.file) ?? 0));
        break;
      case 'syncing names':
        covered.set(line.sync, all.length);
        break;
      case 'synced names':
        durable = Math.max(durable, covered.get(line.sync) ?? 0);
    }
  }
  const names = applied(new Map(), all.slice(0, durable));
  return { names, changes: all.slice(durable), synced };
}

/** The changes that an owner made and had no time to record. */
function unrecorded(
  known: InodesByName,
  found: Readonly<Record<string, number>>,
): readonly NameChange[] {
  const changes: NameChange[] = [];
  for (const [name, file] of Object.entries(found)) {
    if (known.get(name) === file) continue;
    const from = [...known].find(([before, one]) => one === file && found[before] !== one)?.[0];
    changes.push(
      from === undefined ? { kind: 'created', name, file } : { kind: 'renamed', from, to: name },
    );
  }
  const now = applied(known, changes);
  for (const name of now.keys()) if (!(name in found)) changes.push({ kind: 'removed', name });
  return changes;
}

function applied(names: InodesByName, changes: readonly NameChange[]): InodesByName {
  const after = new Map(names);
  for (const change of changes) apply(after, change);
  return after;
}

function apply(names: InodesByName, change: NameChange): void {
  if (change.kind === 'created') names.set(change.name, change.file);
  else if (change.kind === 'removed') names.delete(change.name);
  else {
    const file = names.get(change.from);
    names.delete(change.from);
    if (file !== undefined) names.set(change.to, file);
  }
}

/** The last line may be cut off: its process was killed. */
function linesOf(record: string): readonly DiskLine[] {
  const lines = readFileSync(recordOf(record), 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as DiskLine);
}

function lostBetween(
  before: ReadonlyMap<string, Buffer>,
  left: ReadonlyMap<string, Buffer>,
): number {
  let lost = 0;
  for (const [name, bytes] of before) {
    const found = left.get(name) ?? Buffer.alloc(0);
    for (let i = 0; i < bytes.length; i++) if (bytes[i] !== found[i]) lost++;
  }
  return lost;
}
