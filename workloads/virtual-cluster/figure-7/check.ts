/**
 * The check of a crawl: was each document clustered once at most, and is it in the cluster that the
 * reference finds in commit order? It reads what the tablet servers hold, so it costs no virtual
 * time. Documents may still load, but each observer run that has committed must be among the
 * commits: other runs may have read what it wrote.
 */
import {
  CELLS,
  DATA,
  decodeWriteRecord,
  placeOf,
  WRITE,
} from '../../../engine/transaction/index.ts';
import { documentId } from '../../crawl-rate/documents/index.ts';
import { CLUSTER, DOCUMENTS } from '../../crawl-rate/percolator/tables.ts';
import type { Cluster } from '../cluster.ts';
import type { TableData } from '../table-data.ts';
import type { Repository } from './repository.ts';
import { numberOf } from './rows.ts';

interface Committed {
  readonly arrival: number;
  readonly commitTimestamp: number;
}

const TOLD_MAX = 3;

/** Says whether a document was clustered twice, and names the first ones in a wrong cluster. */
export function checkClusters(
  cluster: Cluster,
  repository: Repository,
  commits: readonly Committed[],
): readonly string[] {
  const table = cluster.storage.table(DOCUMENTS);
  const inOrder = commits.toSorted((a, b) => a.commitTimestamp - b.commitTimestamp);
  const arrivals = inOrder.map(({ arrival }) => arrival);
  // A second run on a document finds the cluster of the first run, so only the count shows it.
  const isOnce = new Set(arrivals).size === arrivals.length;
  const wrong = isOnce ? [] : ['a document was clustered twice'];
  for (const [arrival, founder] of repository.follow(arrivals)) {
    const row = documentId(numberOf(arrival));
    const expected = documentId(numberOf(founder));
    const found = committedText(table, row, CLUSTER);
    if (found === expected) continue;
    wrong.push(`document ${row} is in the cluster of ${found}, not of ${expected}`);
    if (wrong.length === TOLD_MAX) break;
  }
  return wrong;
}

/** The newest committed value of a cell. */
function committedText(table: TableData, row: string, column: string): string | undefined {
  const newest = { ...placeOf(WRITE, column), versions: 1 };
  const write = table.readRow(row, [newest])?.cells[0];
  if (write === undefined) return undefined;
  const { dataTimestamp: from } = decodeWriteRecord(write);
  const data = table.readRow(row, [{ ...placeOf(DATA, column), family: CELLS, from, to: from }]);
  const value = data?.cells[0]?.value;
  return value && Buffer.from(value).toString();
}
