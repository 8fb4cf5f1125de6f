/**
 * What happens to the folder of an embedded store while a process owns it (P69): a backup in the
 * owner's own process, which ends the system's lock without a word, or another program that
 * removes, moves or replaces.
 *
 *     the owner's process    copies the folder, or reads every file in it
 *     another program        removes the lock; the socket; both, when the next process opens the
 *                            store; moves the folder away and back; puts a copy in its place
 *
 * An owner may be displaced by the last three, and by nothing else. It then says so and ends, and
 * the next owner has every acknowledged commit. A copy that is made while the owner works would
 * lack some of them, so all processes stand still while the folder is replaced: no judge needs to
 * know what happened here.
 */
import { readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '#engine';
import { storeIn, TAKE_OVER_MS } from '../../../engine/bigtable/embedded/folder.ts';
import { socketOf } from '../../../engine/bigtable/embedded/sharing/socket-place.ts';

/** The faults, and how findings call them. */
export const FOLDER_FAULTS = {
  copied: 'was copied by its owner',
  read: 'was read by its owner',
  unlocked: 'lost its lock',
  unreachable: 'lost its socket',
  usurped: 'lost lock and socket, and was taken over',
  moved: 'was moved away and back',
  replaced: 'was replaced by a copy',
} as const;

export type FolderFaultName = keyof typeof FOLDER_FAULTS;

/** What only the owner's process can do to itself. */
export type Touch = Extract<FolderFaultName, 'copied' | 'read'>;

/** Those that may take the store from its owner. */
export const DISPLACING: ReadonlySet<FolderFaultName> = new Set(['usurped', 'moved', 'replaced']);

/** For how long a folder may be away, in milliseconds: most owners notice, and some do not. */
const AWAY_MS_MAX = 300;

/** Not sockets, which cannot be copied. Files that the owner removes meanwhile do not matter. */
export async function touchFiles(folder: string, touch: Touch): Promise<void> {
  if (touch === 'copied') {
    const copy = `${folder}-copy`;
    await copyTo(copy, folder).catch(() => undefined);
    rmSync(copy, { recursive: true, force: true });
    return;
  }
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    await readFile(path.join(folder, name)).catch(() => undefined);
  }
}

export function removeLock(folder: string): void {
  rmSync(path.join(folder, 'lock'), { force: true });
}

export function removeSocket(folder: string): void {
  rmSync(socketOf(storeIn(folder) ?? folder), { force: true });
}

/** @param part below 1, of the longest time that the folder may be away */
export async function moveAway(folder: string, part: number): Promise<void> {
  const away = `${folder}-away`;
  renameSync(folder, away);
  await systemClock.sleep(part * AWAY_MS_MAX);
  renameSync(away, folder);
}

/** The processes with these ids have been told to stand still. */
export async function replaceByCopy(folder: string, pids: readonly number[]): Promise<void> {
  const [copy, old] = [`${folder}-copy`, `${folder}-old`];
  while (!pids.every(standsStill)) await systemClock.sleep(1);
  await copyTo(copy, folder);
  renameSync(folder, old);
  renameSync(copy, folder);
  await systemClock.sleep(TAKE_OVER_MS); // From now on no look of the owner counts.
  rmSync(old, { recursive: true });
}

function copyTo(copy: string, folder: string): Promise<void> {
  return cp(folder, copy, { recursive: true, filter: (file) => !statSync(file).isSocket() });
}

/** Only Linux tells. Elsewhere a signal that takes a moment may let an owner answer too much. */
function standsStill(pid: number): boolean {
  if (process.platform !== 'linux') return true;
  const threads = `/proc/${pid}/task`;
  return readdirSync(threads).every((thread) => {
    const stat = readFileSync(path.join(threads, thread, 'stat'), 'utf8');
    return /\) [TtZX] /.test(stat);
  });
}
