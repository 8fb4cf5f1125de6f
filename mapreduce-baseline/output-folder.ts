/** What every output folder has in common: it appears whole, on the disk, and replaces no other. */
import { open, stat } from 'node:fs/promises';
import { MapReduceError } from './errors.ts';

export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}

export function outputExists(outputFolder: string, cause?: unknown): MapReduceError {
  const message = `output folder ${outputFolder} exists; name one that does not, or remove it`;
  return new MapReduceError('OUTPUT_EXISTS', message, { cause });
}
