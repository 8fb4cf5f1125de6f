/**
 * Checks without lmdb whether a folder holds an lmdb store. lmdb itself creates missing files, and
 * the system kills it (SIGSEGV) when it opens a file of another format.
 */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** Offset of the magic number in the first page of an lmdb file, after the page's header. */
const MAGIC_OFFSET = 24;
const MAGIC = 0xbe_ef_c0_de;

/** @throws if there is no such folder, or no lmdb file in it */
export function checkIsStore(folder: string): void {
  const path = join(folder, 'data.mdb');
  if (!existsSync(path)) throw new Error('there is no data.mdb in it');
  const file = openSync(path, 'r');
  try {
    const magic = Buffer.alloc(4);
    readSync(file, magic, 0, magic.length, MAGIC_OFFSET);
    if (magic.readUInt32LE() !== MAGIC) throw new Error('its data.mdb is not a file of lmdb');
  } finally {
    closeSync(file);
  }
}
