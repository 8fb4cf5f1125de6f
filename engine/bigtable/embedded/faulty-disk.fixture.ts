/**
 * Runs a program of a test with a disk that fails on command (faulty-disk.c). Without a C compiler,
 * or a way to preload a library, there is no such disk, and the tests are skipped.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('faulty-disk.c', import.meta.url));
const CONTROL_BYTES = 4_096;

/** The module that the program imports to make its disk fail. */
export const FAULT: string = new URL('fault.fixture.ts', import.meta.url).href;

export interface FaultyDisk {
  /**
   * Runs the text of a module in `folder`. Returns the JSON that it printed, and every path that
   * was synced. Throws if it did not exit with 0.
   */
  run(program: string): { readonly printed: unknown; readonly synced: readonly string[] };
}

/** A disk under `folder`, or the reason why there is none. */
export function makeFaultyDisk(folder: string): FaultyDisk | string {
  if (process.platform !== 'linux') return 'only Linux has LD_PRELOAD and /proc';
  mkdirSync(folder, { recursive: true });
  const library = join(folder, 'faulty-disk.so');
  const made = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE, '-ldl']);
  if (made.error !== undefined) return 'there is no compiler for C (cc)';
  if (made.status !== 0) throw new Error(`cc refuses ${SOURCE}: ${made.stderr.toString()}`);
  return { run: (program) => run({ folder, library }, program) };
}

function run(
  { folder, library }: { readonly folder: string; readonly library: string },
  program: string,
): ReturnType<FaultyDisk['run']> {
  const control = join(folder, 'control');
  const log = join(folder, 'log');
  writeFileSync(control, Buffer.alloc(CONTROL_BYTES));
  writeFileSync(log, '');
  const environment = {
    ...process.env,
    LD_PRELOAD: library,
    FAULTY_DISK_CONTROL: control,
    FAULTY_DISK_LOG: log,
  };
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    env: environment,
    cwd: folder,
    timeout: 60_000,
    stdio: ['ignore', 'pipe', 'ignore'], // lmdb complains on stderr.
  });
  const synced = readFileSync(log, 'utf8').split('\n').filter(Boolean);
  return { printed: JSON.parse(printed.toString()), synced };
}
