/** Copies the folder of an embedded store that no process has open. */
import { constants } from 'node:fs';
import { copyFile, mkdir, open, readdir } from 'node:fs/promises';
import path from 'node:path';

/** Syncs the copy before use, so that no measurement waits for the disk. */
export async function copyStore(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) {
      await copyStore(source, target);
      continue;
    }
    await copyFile(source, target, constants.COPYFILE_FICLONE);
    await using file = await open(target, 'r+');
    await file.sync();
  }
}
