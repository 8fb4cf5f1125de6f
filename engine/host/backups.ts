/**
 * `percolator backup` and `restore`: what operators and timers call. Where the backups go, and how
 * long they are kept, is theirs to say: nothing here removes a file.
 */
import { existsSync } from 'node:fs';
import process from 'node:process';
import { backup, type BackupOptions, restore, type RestoreOptions } from '../backup/index.ts';
import { connectTo } from './connect.ts';
import { type Configuration, wrong } from './configuration.ts';
import { say, warn, withDatabase } from './data.ts';

export async function makeBackup(
  configuration: Configuration,
  options: BackupOptions,
): Promise<number> {
  return withDatabase(configuration, async (percolator) => {
    const { path, from, to, cells, bytes, whyFull } = await backup(percolator, options);
    const kind = from === 0 ? 'full' : `changes since ${from}`;
    if (whyFull !== undefined) process.stderr.write(`percolator backup: ${whyFull}.\n`);
    say(`${path}  ${kind} up to ${to}, ${cells} cells, ${bytes} bytes`);
    return 0;
  });
}

/** Makes the store, if it is a folder that is not there. */
export async function restoreBackup(
  configuration: Configuration,
  options: RestoreOptions,
): Promise<number> {
  if (!existsSync(options.from)) throw wrong(`there is no backup ${options.from}`);
  await using percolator = await connectTo(configuration, { onWarning: warn });
  const { at, tables, cells, pending } = await restore(percolator, options);
  say(`${tables.length} tables as of ${at}, ${cells} cells: ${tables.join(', ')}`);
  if (pending > 0) say(`Observers will run for ${pending} cells.`);
  return 0;
}
