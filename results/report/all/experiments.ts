/**
 * The experiments that measure the paper's claims: the command, what it takes, and the reference
 * run. The claims (claims.ts) name the experiments that they rest on; the README, the page of all
 * runs, `./run.sh reproduce` and ARTIFACT.md are made from these two tables.
 */
import path from 'node:path';
import { readRunRecord } from '../record-file.ts';
import { REFERENCE_FOLDER } from '../run-folders.ts';
import type { RunRecord } from '../run-record.ts';

export interface KnownExperiment {
  /** What it measures, in a few words. */
  readonly about: string;
  readonly script: string;
  /** Beyond the profile and the folder. */
  readonly options: readonly string[];
  /** The reference run, in results/reference. */
  readonly reference: string;
  /** Beyond what `./run.sh` installs; null if nothing. */
  readonly needs: string | null;
  /** The most that a run of the quick profile has at a time, in all its processes, if measured. */
  readonly memoryMb: number | null;
  readonly diskMb: number | null;
  /** Where the time is not that of the script's `--help`, because of the options. */
  readonly seconds?: number;
}

const HBASE = 'Java 11 or newer, and HBase, which `./run.sh fetch` brings';

export type ExperimentName =
  | 'crawl-rate'
  | 'micro'
  | 'micro-hbase'
  | 'brokerage'
  | 'web-index'
  | 'failover';

export const EXPERIMENTS: Readonly<Record<ExperimentName, KnownExperiment>> = {
  'crawl-rate': {
    about: 'Figure 7: clustering crawled documents, by observers and by a MapReduce',
    script: 'bench:crawl-rate',
    options: [],
    reference: 'figure-7',
    needs: null,
    memoryMb: 1_100,
    diskMb: 1_500,
  },
  micro: {
    about: 'Figure 8: reads and writes in a transaction, next to raw ones',
    script: 'bench:micro',
    options: [],
    reference: 'figure-8',
    needs: null,
    memoryMb: 1_600,
    diskMb: 400,
  },
  'micro-hbase': {
    about: 'Figure 8 on HBase, the store that is most like the paper\u2019s',
    script: 'bench:micro',
    options: ['--store', 'hbase', '--figure-only', '--conditional-batch', '--warm-up', '3'],
    reference: 'micro-hbase',
    needs: HBASE,
    memoryMb: 2_900,
    diskMb: 600,
    seconds: 260,
  },
  brokerage: {
    about: 'Figure 9: a brokerage like TPC-E\u2019s, next to PostgreSQL',
    script: 'bench:brokerage',
    options: [],
    reference: 'figure-9',
    needs: null,
    memoryMb: 1_900,
    diskMb: 250,
  },
  'web-index': {
    about: 'Section 4: a web index, by observers and by a batch',
    script: 'bench:web-index',
    options: [],
    reference: 'web-index',
    needs: null,
    memoryMb: 700,
    diskMb: 260,
  },
  failover: {
    about: 'Figure 10: a third of the region servers is killed under load',
    script: 'bench:failover',
    options: [],
    reference: 'figure-10',
    needs: HBASE,
    memoryMb: 4_500,
    diskMb: null,
  },
};

/** The records of the reference runs, by experiment. */
export function referenceRecords(): ReadonlyMap<ExperimentName, RunRecord> {
  const entries = Object.entries(EXPERIMENTS).map(
    ([name, { reference }]) =>
      [name as ExperimentName, readRunRecord(path.join(REFERENCE_FOLDER, reference))] as const,
  );
  return new Map(entries);
}
