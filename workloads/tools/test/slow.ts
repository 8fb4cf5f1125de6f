/**
 * The tests that `./run.sh test --quick` leaves out, because they start processes, servers or a
 * browser, load mutants, or take seconds of processor time: `*.slow.test.ts`, and for now those of
 * the engine and of checks/ that are listed here. A pattern that matches no test, or an alternative
 * in its braces that matches none, fails checks/tidy.test.ts.
 */
import { globSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../../..');

export const SLOW: readonly string[] = [
  '**/*.slow.test.ts',
  'checks/{tidy,readme}.test.ts',
  // Real processes, disks and servers.
  'engine/**/processes.test.ts',
  'engine/bigtable/embedded/{cut-transactions,damage,differential,disk-failures,embedded,ownership,sharing/{sharing,stand-in-owners}}.test.ts',
  'engine/bigtable/hbase/{simulated,security}.test.ts',
  'engine/bigtable/remote/{doubt,emulator,remote}.test.ts',
  'engine/lock-service/{local-processes,service}.test.ts',
  'engine/{core,ending,terminated-thread,leases/leases,hbase,oracle/leased-allocator,remote-database,remote-increments}.test.ts',
  // Histories from many seeds.
  'engine/{audit/live,garbage-collection/histories,observer/failures}.test.ts',
];

/** A pattern that matches the file, whatever characters its folders have: not all can be quoted. */
export function patternOf(file: string): string {
  return file.replaceAll(/[[\]{}()*?!+@\\]/g, '?');
}

/** Files of tests, from the root of the repository. */
export function slowTests(): readonly string[] {
  return globSync([...SLOW], { cwd: ROOT, exclude: ['node_modules'] }).toSorted();
}

export function quickTests(): readonly string[] {
  return globSync('**/*.test.ts', {
    cwd: ROOT,
    exclude: ['node_modules', 'examples', ...SLOW],
  }).toSorted();
}
