/**
 * The tests that `./run.sh test --quick` leaves out, because they start processes, servers or a
 * browser, load mutants, or take seconds of processor time. A pattern that matches no test, or an
 * alternative in its braces that matches none, fails tidy.test.ts.
 */
import { globSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../../..');

export const SLOW: readonly string[] = [
  // Scripts, run as a user runs them, and the rules about all of them.
  '**/main.test.ts',
  'tidy.test.ts',
  'readme.test.ts',
  'workloads/harness/{every-script,command-line/*,experiment/run-experiment,processes/*}.test.ts',
  'workloads/crawl-rate/bench-mapreduce.test.ts',
  'workloads/verification/simulation/bench.test.ts',
  'workloads/tools/tune/programs.test.ts',
  // Real processes, disks and servers.
  '**/processes.test.ts',
  'engine/bigtable/embedded/{cut-transactions,damage,differential,disk-failures,embedded,ownership,processes,sharing/{sharing,stand-in-owners}}.test.ts',
  'engine/bigtable/hbase/{simulated,security}.test.ts',
  'engine/bigtable/remote/{doubt,emulator,http2/stub,remote}.test.ts',
  'engine/lock-service/{local-processes,service}.test.ts',
  'engine/{ending,terminated-thread,leases/leases,hbase,oracle/leased-allocator,remote-database,remote-increments}.test.ts',
  'mapreduce-baseline/{grouping,run-job,engines/*}.test.ts',
  'workloads/tools/mapreduce/{hadoop-cluster,same-result}.test.ts',
  'workloads/crawl-rate/{batch/batch,batch/point,repository-store}.test.ts',
  'workloads/bench/notify-latency/measure.test.ts',
  'workloads/web-index/batch/build-index.test.ts',
  'workloads/brokerage/{check,percolator,postgres}/*.test.ts',
  'workloads/brokerage/driver/customer-emulator.test.ts',
  'workloads/microbench/{clients,measuring}.test.ts',
  'workloads/web-index/{whole-crawl,loading/load,percolator/random-crawls,chaos/chaos}.test.ts',
  // Pages that take the parser seconds.
  'workloads/web-index/model/process-page.test.ts',
  // The memory of a process that does nothing else.
  'workloads/web-index/model/read-captures.test.ts',
  // A browser, and charts drawn to files.
  'results/report/{all/all-page,page,report,run-record}.test.ts',
  'workloads/web-index/{search-page/search-page,serving/serving-index}.test.ts',
  // Histories from many seeds, mutants and models.
  'engine/audit/live.test.ts',
  'engine/garbage-collection/histories.test.ts',
  'engine/observer/failures.test.ts',
  'workloads/verification/{exhaustive/exhaust,invariants/invariants,simulation/simulation,simulation/{disk,hbase}/*}.test.ts',
  'workloads/verification/judges/{engine-histories,snapshot-isolation-simple}.test.ts',
  'workloads/verification/model/model.test.ts',
  'workloads/verification/machine-mutants/{bench,judge-all,verdict}.test.ts',
  'workloads/virtual-cluster/{batch/batch,calibration/this-machine}.test.ts',
  'workloads/virtual-cluster/figure-7/{crawl,sensitivity}.test.ts',
  'workloads/virtual-cluster/{figure-8/figure-8,figure-9/brokerage,figure-10/figure-10}.test.ts',
  'workloads/failover/unknown.test.ts',
  'workloads/verification/{mutants/mutants,sockets/sockets}.test.ts',
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
  return globSync('**/*.test.ts', { cwd: ROOT, exclude: ['node_modules', ...SLOW] }).toSorted();
}
