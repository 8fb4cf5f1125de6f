/** Refuses to begin a run that the disk cannot hold, before half a repository is written. */
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '#results';

/** Throws a UsageError if the disk of `folder`, which need not exist yet, lacks the free space. */
export async function refuseFullDisk(folder: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(nearestExisting(path.resolve(folder)));
  const freeBytes = bavail * bsize;
  if (freeBytes >= neededBytes) return;
  throw new UsageError(
    `--out must be on a disk with ${bytesText(neededBytes)} free for a run of this size, ` +
      `but the disk of ${JSON.stringify(folder)} has ${bytesText(freeBytes)}.`,
  );
}

/** "2.4 GB", "35 MB", or "812 kB" */
export function bytesText(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  return bytes >= 1e6 ? `${Math.ceil(bytes / 1e6)} MB` : `${Math.ceil(bytes / 1e3)} kB`;
}

function nearestExisting(folder: string): string {
  const parent = path.dirname(folder);
  return existsSync(folder) || parent === folder ? folder : nearestExisting(parent);
}
