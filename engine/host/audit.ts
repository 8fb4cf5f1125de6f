/** `percolator fsck`: the audit of a database (fsck.ts), with its report. */
import { existsSync } from 'node:fs';
import { hasCode, unreachable } from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import { openEmbedded } from '../bigtable/embedded/index.ts';
import { openStore } from '../bigtable/open-store.ts';
import { connectOracle, type OracleClient } from '../oracle/client.ts';
import { fsck, type FsckOptions } from '../fsck.ts';
import { type Configuration, wrong } from './configuration.ts';
import { noStore, openTls } from './connect.ts';
import { say } from './data.ts';
import { FsckReport, reportLines } from './fsck-report.ts';

export interface AuditWanted {
  /** None: all. */
  readonly tables: readonly string[];
  readonly repair: boolean;
  readonly json: boolean;
  /** Findings of each code that are printed; all are counted. */
  readonly limit: number;
}

/** Exit code 1 if an error is left. */
export async function auditDatabase(
  configuration: Configuration,
  { tables, repair, json, limit }: AuditWanted,
): Promise<number> {
  await using store = await openFor(configuration, repair);
  await using oracle = repair ? oracleOf(configuration) : undefined;
  const report = new FsckReport(limit);
  const audit = await startAudit(store, tables, repair ? { repair, oracle } : {});
  for await (const finding of audit) report.add(finding);
  const summary = report.summary({
    store: nameOf(configuration),
    repair,
    interrupted: false,
    ...audit.counters,
  });
  say(json ? JSON.stringify(summary, null, 2) : reportLines(summary).join('\n'));
  return summary.errorsLeft > 0 ? 1 : 0;
}

/** A folder is opened for reading even if it is damaged, so that the report says what is left. */
async function openFor({ store }: Configuration, repair: boolean): Promise<Bigtable> {
  if (store === undefined) throw noStore();
  if (store.kind !== 'embedded') return openStore(store, { readOnly: !repair });
  const { folder } = store;
  if (!existsSync(folder)) throw wrong(`the store ${folder} does not exist`);
  return repair
    ? openEmbedded({ folder })
    : openEmbedded({ folder, readOnly: true, salvage: true });
}

async function startAudit(
  store: Bigtable,
  tables: readonly string[],
  options: Pick<FsckOptions, 'repair' | 'oracle'>,
): ReturnType<typeof fsck> {
  const chosen = tables.length === 0 ? undefined : tables;
  try {
    return await fsck(store, { tables: chosen, ...options, waitForLocks: true });
  } catch (error) {
    if (!hasCode(error, 'TABLE_NOT_FOUND')) throw error;
    throw wrong(`--table must name a table of the store: ${error.message}`, error);
  }
}

/** Undefined if the oracle is kept in the store. */
function oracleOf(configuration: Configuration): OracleClient | undefined {
  const { oracles: addresses, insecure } = configuration;
  if (addresses.length === 0) return undefined;
  // The watch over its files ends with this process.
  return connectOracle({ addresses, insecure, tls: openTls(configuration) });
}

function nameOf({ store }: Configuration): string {
  if (store === undefined) return '';
  switch (store.kind) {
    case 'embedded':
      return store.folder;
    case 'emulator':
      return store.address;
    case 'cloud':
      return `${store.project}/${store.instance}`;
    case 'hbase':
      return store.servers.join(',');
    default:
      return unreachable(store);
  }
}
