/**
 * Everything that must hold after the failure, with the database at rest:
 *
 *     nothing lost     each document whose transaction was acknowledged is there, byte for byte
 *     nothing invented each document that is there was written, byte for byte
 *     clusters         each document that is there has a cluster, and the clusters are those of the
 *                      reference clustering, in the order of the stored commits
 *     notifications    none is left
 *     fsck             finds no error
 *
 * A document whose transaction was not acknowledged may be there or not.
 */
import type { Bigtable, Percolator } from '#engine';
import { counted } from '#results';
import { checkPartition } from '../crawl-rate/check.ts';
import {
  documentId,
  encodeDocument,
  type SyntheticDocuments,
} from '../crawl-rate/documents/index.ts';
import { countDirty, readPartition } from '../crawl-rate/percolator/read-partition.ts';
import { CLUSTER, DOCUMENT, DOCUMENTS } from '../crawl-rate/percolator/tables.ts';
import { auditAtRest } from './audit.ts';
import type { DocumentArrival } from './crawler.ts';
import { numberOf } from './keys.ts';
import type { CheckResult } from './workload.ts';

const ROWS_PER_CALL = 5_000;
/** Where the engine keeps the write records of the clusters (figure 5 of the paper). */
const CLUSTER_RECORDS = { family: 'cells', qualifier: `${CLUSTER}:write` };

export async function checkAtRest(
  percolator: Percolator,
  store: Bigtable,
  given: { readonly documents: SyntheticDocuments; readonly arrivals: readonly DocumentArrival[] },
): Promise<CheckResult> {
  const audited = await auditAtRest(store);
  const partition = await readPartition(percolator);
  const stored = await storedDocuments(percolator);
  const rows = await clusteredRows(percolator);
  const inOrder = rows.map((row) => {
    const number = Number(row);
    return { id: documentId(number), keys: given.documents.keysOf(number) };
  });
  const clustered = new Set(rows);
  const clusters = checkPartition(partition, inOrder, 'commit order');
  const dirty = await countDirty(percolator);
  const wrong = [
    ...checkDocuments(stored, given),
    ...sentenceOn(
      [...stored.keys()].filter((row) => !clustered.has(row)),
      'that no observer clustered',
    ),
    ...(clusters.passed ? [] : [clusters.detail]),
    ...(dirty === 0 ? [] : [`${counted(dirty, 'notifications')} not cleared`]),
    ...audited.wrong,
  ];
  const acknowledged = given.arrivals.filter(({ acknowledgedMs }) => acknowledgedMs !== undefined);
  const right =
    `all ${acknowledged.length} acknowledged documents are there, all ${partition.size} are in the clusters ` +
    'that the reference clustering finds in commit order, no notification is left, and fsck finds no error';
  return { wrong, right, warnings: audited.warnings };
}

/** The rows in the order in which their clusters were first committed. */
export async function clusteredRows(percolator: Percolator): Promise<readonly string[]> {
  const table = await percolator.storedName(DOCUMENTS);
  const found: { readonly row: string; readonly at: number }[] = [];
  let start = '';
  for (;;) {
    const range = { start, limit: ROWS_PER_CALL };
    const rows = await percolator.store.readRange(table, range, [CLUSTER_RECORDS]);
    for (const { key, cells } of rows) {
      found.push({ row: key, at: Math.min(...cells.map(({ timestamp }) => timestamp)) });
    }
    const last = rows.at(-1);
    if (rows.length < ROWS_PER_CALL || last === undefined) break;
    start = `${last.key}\0`;
  }
  return found.toSorted((a, b) => a.at - b.at).map(({ row }) => row);
}

async function storedDocuments(
  percolator: Percolator,
): Promise<ReadonlyMap<string, Buffer | undefined>> {
  const stored = new Map<string, Buffer | undefined>();
  await using snapshot = await percolator.snapshot();
  for await (const { row, values } of snapshot.scan({ table: DOCUMENTS, columns: [DOCUMENT] })) {
    const value = values.get(DOCUMENT);
    stored.set(row, value === undefined ? undefined : Buffer.from(value));
  }
  return stored;
}

function checkDocuments(
  stored: ReadonlyMap<string, Buffer | undefined>,
  { documents, arrivals }: Parameters<typeof checkAtRest>[2],
): readonly string[] {
  const repository = Array.from({ length: documents.repository }, (_, i) =>
    documentId(numberOf(i)),
  );
  const acknowledged = arrivals.filter(({ acknowledgedMs }) => acknowledgedMs !== undefined);
  const needed = [...repository, ...acknowledged.map(({ row }) => row)];
  const isAsWritten = (row: string): boolean =>
    stored.get(row)?.equals(encodeDocument(documents.documentOf(Number(row)))) === true;
  const mustBe = new Set(needed);
  const mayBe = new Set(arrivals.map(({ row }) => row));
  const invented = [...stored.keys()].filter(
    (row) => !mustBe.has(row) && !(mayBe.has(row) && isAsWritten(row)),
  );
  return [
    ...sentenceOn(
      needed.filter((row) => !isAsWritten(row)),
      'lost or changed',
    ),
    ...sentenceOn(invented, 'that no writer wrote'),
  ];
}

/** Nothing if there are no such documents. */
function sentenceOn(rows: readonly string[], what: string): readonly string[] {
  if (rows.length === 0) return [];
  return [`${counted(rows.length, 'documents')} ${what}, such as ${rows[0]}`];
}
