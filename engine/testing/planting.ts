/**
 * Cells planted by hand, without the engine, most of which no transaction would leave; and the
 * findings of an audit, in words short enough to be compared.
 */
import { audit, type AuditedTable, type AuditOptions, type Finding } from '../audit/index.ts';
import type { Bigtable, Mutation, Timestamp } from '../bigtable/index.ts';
import { createLeaseTable, LEASES_TABLE } from '../leases/lease-table.ts';
import { placeOf, type CellAddress, type CellKind, NOTIFY_FAMILIES } from '../transaction/index.ts';
import { cell, type TestClient, type TestDatabase } from './database.ts';

/** `lock x` is the lock of the cell `x`, which is named as in a test database. */
export async function plant(
  { store }: TestDatabase,
  name: string,
  timestamp: Timestamp,
  value: string = '',
): Promise<void> {
  const { place, table, row } = parse(name);
  const set = { kind: 'set', ...place, timestamp, value: Buffer.from(value) } as const;
  await mutate(store, table, row, set);
}

export async function erase(
  { store }: TestDatabase,
  name: string,
  timestamp: Timestamp,
): Promise<void> {
  const { place, table, row } = parse(name);
  await mutate(store, table, row, { kind: 'erase', ...place, from: timestamp, to: timestamp });
}

/** A lease that says `value`, which may be damaged. Its table is made if there is none. */
export async function plantLease(store: Bigtable, token: string, value: string): Promise<void> {
  await createLeaseTable(store);
  const place = { family: 'lease', qualifier: 'lease', timestamp: 1 };
  await mutate(store, LEASES_TABLE, token, { kind: 'set', ...place, value: Buffer.from(value) });
}

/** The value of a lock whose owner is `owner`. */
export function lockOf(primary: string, owner: string, changes: object = {}): string {
  const { table, row, column } = cell(primary);
  const lock = {
    primary: [table, row, column],
    operation: 'delete', // A put would need data.
    owner,
    wallMs: 0,
    timeToLiveMs: 5_000,
    heartbeat: 0,
    ...changes,
  };
  return JSON.stringify(lock);
}

/** The value of a write record. */
export function recordOf(start: Timestamp, rest: string = 'put'): string {
  return `${String(start).padStart(16, '0')} ${rest}`;
}

export async function findingsOf(
  client: TestClient,
  options: AuditOptions & { readonly tables?: readonly AuditedTable[] } = {},
): Promise<readonly Finding[]> {
  const { tables = TABLES, ...rest } = options;
  return Array.fromAsync(audit(client.context, tables, rest));
}

export const TABLES: readonly AuditedTable[] = [
  { table: 't', observedColumns: ['seen'] },
  { table: 'u', observedColumns: [] },
];

/** As `error code row:column @ timestamps`. */
export function summaryOf({ severity, code, cell: found, timestamps }: Finding): string {
  const place = [found.row ?? found.table, found.column ?? ''].join(':').replace(/:$/, '');
  return `${severity} ${code} ${place} @ ${timestamps.join(' ')}`.trimEnd();
}

/** A kind of notification is the name of its family; the other kinds share a family. */
function parse(
  name: string,
): CellAddress & { readonly place: { readonly family: string; readonly qualifier: string } } {
  const [kind = '', ...names] = name.split(' ');
  const address = cell(names.join(' '));
  const { column } = address;
  const isNotification = NOTIFY_FAMILIES.includes(kind);
  const place = isNotification
    ? { family: kind, qualifier: column }
    : placeOf(kind as CellKind, column);
  return { ...address, place };
}

async function mutate(
  store: Bigtable,
  table: string,
  row: string,
  mutation: Mutation,
): Promise<void> {
  await store.mutateRows([{ table, row, mutations: [mutation] }]);
}
