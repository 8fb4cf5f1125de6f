/**
 * The roots of the code for knip; code that is not reachable from them is unused.
 *
 * Knip finds most roots itself: the scripts, `imports` and `exports` of package.json, and programs
 * that are started with `new URL('...', import.meta.url)`. What remains are the tests, the
 * module that their runner loads first, and the jobs that workers load by their URL.
 */
import type { KnipConfig } from 'knip';

const config: KnipConfig = {
  entry: [
    '**/*.test.ts',
    'checks/every-test-asserts.ts',
    'workloads/verification/explorer/find.ts', // For authors; no script of its own.
    'workloads/verification/explorer/page/{app,recorded-app}.ts', // Bundled by build.ts.
    'engine/testing/page*.fixture.ts', // In the place of node:test and node:assert in a browser.
    'examples/*/demo.ts',
    'workloads/crawl-rate/batch/cluster-job.ts',
    'workloads/web-index/batch/{page,rank,serve}-jobs.ts',
  ],
  project: ['**/*.ts'],
  // A function's types are exported with it, so that its callers can name them.
  ignoreExportsUsedInFile: { interface: true, type: true },
  // Tests make named pipes with mkfifo; Maven brings Hadoop and HBase; the others make hosts
  // and a realm of Kerberos.
  ignoreBinaries: [
    'mkfifo',
    'mvn',
    'ip',
    'mount',
    'unshare',
    'systemd-analyze',
    'kinit',
    'kdestroy',
    'kdb5_util',
    'kadmin.local',
  ],
  ignoreIssues: { '**/index.ts': ['types'] },
};

export default config;
