/** Refuses to begin a run that the disk cannot hold, before half a repository is written. */
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '#results';

const GIGABYTE = 1e9;

/** Throws a UsageError if the disk of `folder`, which need not exist yet, lacks the free space. */
export async function refuseFullDisk(folder: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(nearestExisting(path.resolve(folder)));
  const freeBytes = bavail * bsize;
  if (freeBytes >= neededBytes) return;
  throw new UsageError(
    `--directory must be on a disk with ${gigabytes(neededBytes)} GB free for this many documents, ` +
      `but the disk of ${JSON.stringify(folder)} has ${gigabytes(freeBytes)} GB; ` +
      'use another one or fewer --documents.',
  );
}

function nearestExisting(folder: string): string {
  const parent = path.dirname(folder);
  return existsSync(folder) || parent === folder ? folder : nearestExisting(parent);
}

function gigabytes(bytes: number): string {
  return (bytes / GIGABYTE).toFixed(1);
}
