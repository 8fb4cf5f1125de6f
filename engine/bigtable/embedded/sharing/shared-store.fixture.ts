/** What the tests of shared stores have in common. */
import { type PercolatorError, systemClock } from '../../../base/index.ts';
import { openWithTable, setRow } from '../../../testing/small-rows.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import type { CellFilter, ConditionalRowMutation } from '../../bigtable.ts';
import { folderDisk } from '../disk.ts';
import { storeIn } from '../folder.ts';
import { recover } from '../recovery.ts';
import { type Greeting, PROTOCOL } from './messages.ts';

export const FILTERS: readonly CellFilter[] = [{ family: 'data' }, { family: 'lock' }];
/** Times of a client that soon gives up. */
export const IMPATIENT = { attachMs: 300, requestMs: 300 };
/** Times of a client that waits for a process that has yet to start, on any machine. */
export const PATIENT = { attachMs: 120_000, requestMs: 120_000 };

export const codeOf = ({ code }: PercolatorError): string => code;

/** The folder of a store with table `t`, which no process has open. */
export async function newStore(): Promise<string> {
  const folder = temporaryFolder();
  await (await openWithTable(folder)).close();
  return folder;
}

export function lockRow(row: string, owner: string): ConditionalRowMutation {
  const anyOf = [{ family: 'data', qualifier: 'q' }];
  return { table: 't', row, anyOf, ifNotFound: setRow(row, owner).mutations };
}

/** What an owner of the folder's store would say first. */
export function greetingOf(folder: string): Greeting {
  const disk = folderDisk(storeIn(folder) ?? folder, { fsync: false });
  const { store, files } = recover(disk).log;
  for (const { file } of files.values()) file.close();
  disk.close();
  return {
    protocol: PROTOCOL,
    fsync: true,
    process: 99,
    store,
    clockMs: Math.floor(systemClock.monotonicMs()),
  };
}
