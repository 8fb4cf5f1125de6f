/**
 * The possible paths of a call to a Bigtable, each with the same two operations: the prewrite of
 * one cell, and the read of its lock, write record and data.
 */
import { credentials, Metadata } from '@grpc/grpc-js';
import type { v2 } from '@google-cloud/bigtable';
import { openRemote } from '#engine';

export const PATHS = ['promise', 'stub', 'remote, grpc-js', 'remote'] as const;
export type PathName = (typeof PATHS)[number];

export interface Path extends AsyncDisposable {
  prewrite(row: string, timestamp: number): Promise<unknown>;
  read(row: string, timestamp: number): Promise<unknown>;
}

export const INSTANCE = { project: 'percolator-bench', instance: 'transport' } as const;
export const TABLE = 'transport';
export const FAMILIES: readonly string[] = ['cells'];

const [FAMILY] = FAMILIES as [string];
const [DATA_COLUMN, LOCK_COLUMN, WRITE_COLUMN] = ['c:data', 'c:lock', 'c:write'] as const;
const VALUE = Buffer.alloc(100, 'v');
const LOCK = Buffer.from('a lock names its primary and its process');
const CALL_MS_MAX = 10_000;
const TABLE_NAME = `projects/${INSTANCE.project}/instances/${INSTANCE.instance}/tables/${TABLE}`;

export function openPath(name: PathName, address: string): Promise<Path> {
  if (name === 'promise' || name === 'stub') return openOfficial(name, address);
  return openStore(address, name === 'remote, grpc-js');
}

async function openStore(plainAddress: string, plainGrpc: boolean): Promise<Path> {
  const store = await openRemote({ ...INSTANCE, plainAddress, plainGrpc });
  const lock = { family: FAMILY, qualifier: LOCK_COLUMN };
  const write = { family: FAMILY, qualifier: WRITE_COLUMN };
  const data = { family: FAMILY, qualifier: DATA_COLUMN };
  return {
    prewrite: (row, timestamp) =>
      store.checkAndMutateRow({
        table: TABLE,
        row,
        anyOf: [lock, { ...write, from: timestamp }],
        ifNotFound: [
          { kind: 'set', ...data, timestamp, value: VALUE },
          { kind: 'set', ...lock, timestamp, value: LOCK },
        ],
      }),
    read: (row, timestamp) =>
      store.readRow(TABLE, row, [
        { ...lock, to: timestamp, versions: 1 },
        { ...write, to: timestamp, versions: 1 },
        { ...data, to: timestamp, versions: 2 },
      ]),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** The same operations as requests of the official client. */
async function openOfficial(name: 'promise' | 'stub', address: string): Promise<Path> {
  const { v2: api } = await import('@google-cloud/bigtable');
  const [host, port] = address.split(':');
  const client = new api.BigtableClient({
    servicePath: host ?? '',
    port: Number(port),
    sslCreds: credentials.createInsecure(),
    auth: { getUniverseDomain: () => Promise.resolve('googleapis.com') },
  } as ConstructorParameters<typeof api.BigtableClient>[0]);
  const stub = (await client.initialize()) as unknown as Stub;
  const calls = name === 'promise' ? promises(client) : stubCalls(stub);
  return { ...calls, [Symbol.asyncDispose]: () => client.close() };
}

type PathCalls = Pick<Path, 'prewrite' | 'read'>;
type Callback = (error: Error | null, answer?: unknown) => void;

interface Stub {
  checkAndMutateRow(request: object, metadata: Metadata, options: object, done: Callback): void;
  readRows(request: object, metadata: Metadata, options: object): NodeJS.ReadableStream;
}

function promises(client: v2.BigtableClient): PathCalls {
  return {
    prewrite: (row, timestamp) => client.checkAndMutateRow(prewriteRequest(row, timestamp)),
    read: (row, timestamp) => allOf(client.readRows(readRequest(row, timestamp))),
  };
}

function stubCalls(stub: Stub): PathCalls {
  const metadata = new Metadata();
  metadata.set('x-goog-request-params', `table_name=${encodeURIComponent(TABLE_NAME)}`);
  const options = (): object => ({ deadline: Date.now() + CALL_MS_MAX });
  return {
    prewrite: (row, timestamp) =>
      new Promise((resolve, reject) => {
        const request = prewriteRequest(row, timestamp);
        stub.checkAndMutateRow(request, metadata, options(), (error, answer) => {
          if (error === null) resolve(answer);
          else reject(error);
        });
      }),
    read: (row, timestamp) =>
      allOf(stub.readRows(readRequest(row, timestamp), metadata, options())),
  };
}

function allOf(answers: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve, reject) => {
    answers.on('data', () => {});
    answers.on('error', reject);
    answers.on('end', resolve);
  });
}

function prewriteRequest(row: string, timestamp: number): object {
  const cell = (column: string, value: Buffer): object => ({
    familyName: FAMILY,
    columnQualifier: Buffer.from(column),
    timestampMicros: timestamp * 1000,
    value,
  });
  return {
    tableName: TABLE_NAME,
    rowKey: Buffer.from(row),
    predicateFilter: {
      interleave: {
        filters: [columnFilter(LOCK_COLUMN), chain([columnFilter(WRITE_COLUMN), from(timestamp)])],
      },
    },
    falseMutations: [{ setCell: cell(DATA_COLUMN, VALUE) }, { setCell: cell(LOCK_COLUMN, LOCK) }],
  };
}

function readRequest(row: string, timestamp: number): object {
  const versions = { cellsPerColumnLimitFilter: 2 };
  return {
    tableName: TABLE_NAME,
    rows: { rowKeys: [Buffer.from(row)] },
    filter: chain([columnFilter(DATA_COLUMN, WRITE_COLUMN), to(timestamp), versions]),
  };
}

function chain(filters: readonly object[]): object {
  return { chain: { filters } };
}

function columnFilter(first: string, last = first): object {
  const [start, end] = [Buffer.from(first), Buffer.from(last)];
  return {
    columnRangeFilter: { familyName: FAMILY, startQualifierClosed: start, endQualifierClosed: end },
  };
}

function from(timestamp: number): object {
  return { timestampRangeFilter: { startTimestampMicros: timestamp * 1000 } };
}

function to(timestamp: number): object {
  return { timestampRangeFilter: { endTimestampMicros: (timestamp + 1) * 1000 } };
}
