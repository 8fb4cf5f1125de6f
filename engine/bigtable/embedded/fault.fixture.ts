/** Imported by a program on a faulty disk: tells the disk which call fails next. */
import { openSync, writeSync } from 'node:fs';
import process from 'node:process';

/** Numbers as in faulty-disk.c. `meta`: the write that is the moment of the commit. */
const KINDS = { pages: 1, sync: 2, meta: 3 } as const;
const EIO = 5;

export type FaultKind = keyof typeof KINDS;

/** Makes the store's next `times` writes or syncs of that kind fail. */
export function failNext(kind: FaultKind, times = 1, errno: number = EIO): void {
  const file = openSync(process.env['FAULTY_DISK_CONTROL'] ?? '', 'r+');
  const bytes = Buffer.alloc(12);
  bytes.writeInt32LE(KINDS[kind], 0);
  bytes.writeInt32LE(times, 4);
  bytes.writeInt32LE(errno, 8);
  writeSync(file, bytes, 0, bytes.length, 0);
}
