/**
 * The five data calls as promises, each with a deadline, and the official clients that make them.
 *
 *     reads, blind mutations     retried until the deadline, after a failure that passes (failures.ts)
 *     conditional mutations      sent once: a copy would find and report its own effect (P12)
 *
 * A blind mutation may be sent twice because it has explicit timestamps. Its copies end with its
 * deadline, which is far below the time for which a collector expects messages in flight
 * (garbage-collection/options.ts).
 *
 * The calls use the generated stub of the official client and protobuf's own encoding. They skip
 * the client's promises around the stub and its conversions around the encoding, which cost as much
 * again as the call itself.
 */
import type { v2 } from '@google-cloud/bigtable';
import type * as bigtableApi from '@google-cloud/bigtable-api';
import type { protos } from '@google-cloud/bigtable-api';
import type * as grpcJs from '@grpc/grpc-js';
import { isWithin, loadPackages, momentOf, PercolatorError } from '../../base/index.ts';
import {
  Code,
  errorOf,
  type Failure,
  failureOf,
  isPassing,
  type Patience,
  type Purpose,
  retrying,
} from './failures.ts';
import { type AssembledRow, RowAssembly } from './row-assembly.ts';

type V2 = typeof protos.google.bigtable.v2;
type Api = protos.google.bigtable.v2.IReadRowsRequest;
export type ReadRowsRequest = Omit<Api, 'tableName'>;
export type MutateRowRequest = Omit<protos.google.bigtable.v2.IMutateRowRequest, 'tableName'>;
export type MutateRowsEntry = protos.google.bigtable.v2.MutateRowsRequest.IEntry;
export type CheckAndMutateRowRequest = Omit<
  protos.google.bigtable.v2.ICheckAndMutateRowRequest,
  'tableName'
>;

export interface DataCallsOptions extends Patience {
  /** `projects/<project>/instances/<instance>` */
  readonly instance: string;
  readonly appProfile?: string | undefined;
}

/**
 * The message `FeatureFlags` with `reverse_scans`, in Base64: servers refuse reads in reverse to
 * clients that do not send it. It is to be the same in all calls.
 */
const FEATURES = 'CAE=';

/** What all calls for a table have in common. */
interface NamedTable {
  readonly tableName: string;
  /** Headers by which Bigtable routes a call. */
  readonly metadata: Metadata;
}

interface ApiMethod<Request, Response> {
  readonly path: string;
  readonly encode: (request: Request) => Buffer;
  readonly decode: (bytes: Buffer) => Response;
}

/** What `errorOf` needs to know of a call. */
interface CallMeaning {
  readonly purpose: Purpose;
  readonly what: string;
}

export class DataCalls {
  readonly #clients: Clients;
  readonly #options: DataCallsOptions;
  readonly #methods: ReturnType<typeof methodsOf>;
  readonly #tables = new Map<string, NamedTable>();

  constructor(clients: Clients, options: DataCallsOptions) {
    this.#clients = clients;
    this.#options = options;
    this.#methods = methodsOf(clients.messages);
  }

  readRows(table: string, request: ReadRowsRequest): Promise<readonly AssembledRow[]> {
    return this.#retry({ purpose: 'read', what: `reading ${table}` }, async (left) => {
      const assembly = new RowAssembly({ isReversed: request.reversed === true });
      await this.#stream(this.#methods.readRows, { table, request }, left, ({ chunks }) => {
        assembly.add(chunks ?? []);
      });
      return assembly.finish();
    });
  }

  async sampleRowKeys(table: string): Promise<readonly Uint8Array[]> {
    const what = `sampling ${table}`;
    return this.#retry({ purpose: 'read', what }, async (left) => {
      const keys: Uint8Array[] = [];
      const call = { table, request: {} };
      await this.#stream(this.#methods.sampleRowKeys, call, left, ({ rowKey }) => {
        keys.push(rowKey as Uint8Array);
      });
      return keys;
    });
  }

  async mutateRow(table: string, request: MutateRowRequest): Promise<void> {
    const what = `mutating ${table}`;
    await this.#retry({ purpose: 'mutation', what }, (left) =>
      this.#unary(this.#methods.mutateRow, { table, request }, left),
    );
  }

  /**
   * Blind mutations of several rows. Rows that failed for a passing reason are sent again, without
   * the others.
   */
  async mutateRows(table: string, entries: readonly MutateRowsEntry[]): Promise<void> {
    let left = entries;
    const meaning: CallMeaning = { purpose: 'mutation', what: `mutating rows of ${table}` };
    await this.#retry(meaning, async (timeoutMs) => {
      const answered = await this.#sendEntries(table, left, timeoutMs);
      left = answered.failed;
      if (answered.failure !== undefined) throw answered.failure;
    });
  }

  /** Never sent twice. */
  async checkAndMutateRow(table: string, request: CheckAndMutateRowRequest): Promise<boolean> {
    const { timeoutMs } = this.#options;
    const method = this.#methods.checkAndMutateRow;
    try {
      const answer = await this.#unary(method, { table, request }, timeoutMs);
      return answer.predicateMatched ?? false;
    } catch (error) {
      throw errorOf(error, 'mutation', `checking and mutating a row of ${table}`);
    }
  }

  async #sendEntries(
    table: string,
    entries: readonly MutateRowsEntry[],
    timeoutMs: number,
  ): Promise<{ readonly failed: readonly MutateRowsEntry[]; readonly failure: unknown }> {
    const unanswered = new Set(entries.keys());
    const failed: MutateRowsEntry[] = [];
    let failure: Failure | undefined;
    const request = { entries: [...entries] };
    await this.#stream(this.#methods.mutateRows, { table, request }, timeoutMs, (answer) => {
      for (const { index, status } of answer.entries ?? []) {
        const entry = entries[Number(index)];
        if (entry === undefined) throw senseless(Number(index), entries.length);
        unanswered.delete(Number(index));
        if ((status?.code ?? Code.ok) === Code.ok) continue;
        const entryFailure = failureOf({ code: status?.code, details: status?.message ?? '' });
        // Another try is useful only if no entry failed for good.
        if (failure === undefined || !isPassing(entryFailure)) failure = entryFailure;
        failed.push(entry);
      }
    });
    if (unanswered.size > 0) {
      failure ??= failureOf({ code: Code.unavailable, details: 'some rows got no answer' });
      for (const index of unanswered) failed.push(entries[index] as MutateRowsEntry);
    }
    return { failed, failure };
  }

  #retry<T>({ purpose, what }: CallMeaning, send: (timeoutMs: number) => Promise<T>): Promise<T> {
    return retrying(this.#options, (error) => errorOf(error, purpose, what), send);
  }

  async #unary<Request, Response>(
    { path, encode, decode }: ApiMethod<Request, Response>,
    call: { readonly table: string; readonly request: object },
    timeoutMs: number,
  ): Promise<Response> {
    const { stub } = this.#clients;
    const { request, metadata, options } = this.#addressed(call, timeoutMs);
    if (this.#clients.isConnecting()) await this.#connected(timeoutMs);
    return new Promise((resolve, reject) => {
      stub.makeUnaryRequest(
        path,
        encode,
        decode,
        request as Request,
        metadata,
        options,
        (error, answer) => {
          if (error !== null) reject(error);
          else resolve(answer as Response);
        },
      );
    });
  }

  async #stream<Request, Response>(
    { path, encode, decode }: ApiMethod<Request, Response>,
    call: { readonly table: string; readonly request: object },
    timeoutMs: number,
    onAnswer: (answer: Response) => void,
  ): Promise<void> {
    const { stub } = this.#clients;
    const { request, metadata, options } = this.#addressed(call, timeoutMs);
    if (this.#clients.isConnecting()) await this.#connected(timeoutMs);
    return new Promise((resolve, reject) => {
      const answers = stub.makeServerStreamRequest(
        path,
        encode,
        decode,
        request as Request,
        metadata,
        options,
      );
      answers.on('data', (answer: Response) => {
        try {
          onAnswer(answer);
        } catch (error) {
          reject(error);
          answers.cancel();
        }
      });
      answers.on('error', reject);
      answers.on('end', resolve);
    });
  }

  #addressed(
    call: { readonly table: string; readonly request: object },
    timeoutMs: number,
  ): { request: object; metadata: Metadata; options: { deadline: number } } {
    const { tableName, metadata } = this.#tableOf(call.table);
    const { clock, appProfile: appProfileId = '' } = this.#options;
    const request = { ...call.request, tableName, appProfileId };
    return { request, metadata, options: { deadline: clock.wallMs() + timeoutMs } };
  }

  /**
   * Resolves when there is a connection, or none can be made. A call that grpc-js keeps until then
   * would be sent however late it is: by a process that stood still meanwhile, or whose machine was
   * suspended (P59).
   */
  async #connected(timeoutMs: number): Promise<void> {
    const { clock } = this.#options;
    const begun = momentOf(clock);
    const channel = this.#clients.stub.getChannel();
    const deadline = clock.wallMs() + timeoutMs;
    while (this.#clients.isConnecting()) {
      const state = channel.getConnectivityState(false);
      await new Promise<void>((resolve, reject) => {
        channel.watchConnectivityState(state, deadline, (late) => {
          if (late === undefined) resolve();
          else reject(unsent(timeoutMs));
        });
      });
    }
    if (!isWithin(clock, timeoutMs, begun)) throw unsent(timeoutMs);
  }

  #tableOf(table: string): NamedTable {
    let named = this.#tables.get(table);
    if (named === undefined) {
      const { instance, appProfile = '' } = this.#options;
      const tableName = `${instance}/tables/${table}`;
      const profile = encodeURIComponent(appProfile);
      const params = `table_name=${encodeURIComponent(tableName)}&app_profile_id=${profile}`;
      const metadata = this.#clients.metadata({
        'x-goog-request-params': params,
        'bigtable-features': FEATURES,
      });
      named = { tableName, metadata };
      this.#tables.set(table, named);
    }
    return named;
  }
}

function unsent(timeoutMs: number): Error & Failure {
  const details = `no connection in ${timeoutMs} ms`;
  return Object.assign(new Error(details), {
    code: Code.deadlineExceeded,
    details,
    isUnsent: true,
  });
}

/** In doubt: nothing tells which rows such a server has mutated. */
function senseless(index: number, rows: number): PercolatorError {
  return new PercolatorError(
    'STORE_IN_DOUBT',
    `the storage's answer makes no sense: it speaks of row ${index} of a call with ${rows}, which begin at 0`,
  );
}

function methodsOf(v2: V2): {
  readonly readRows: ApiMethod<Api, protos.google.bigtable.v2.IReadRowsResponse>;
  readonly sampleRowKeys: ApiMethod<
    protos.google.bigtable.v2.ISampleRowKeysRequest,
    protos.google.bigtable.v2.ISampleRowKeysResponse
  >;
  readonly mutateRow: ApiMethod<
    protos.google.bigtable.v2.IMutateRowRequest,
    protos.google.bigtable.v2.IMutateRowResponse
  >;
  readonly mutateRows: ApiMethod<
    protos.google.bigtable.v2.IMutateRowsRequest,
    protos.google.bigtable.v2.IMutateRowsResponse
  >;
  readonly checkAndMutateRow: ApiMethod<
    protos.google.bigtable.v2.ICheckAndMutateRowRequest,
    protos.google.bigtable.v2.ICheckAndMutateRowResponse
  >;
} {
  return {
    readRows: methodOf('ReadRows', v2.ReadRowsRequest, v2.ReadRowsResponse),
    sampleRowKeys: methodOf('SampleRowKeys', v2.SampleRowKeysRequest, v2.SampleRowKeysResponse),
    mutateRow: methodOf('MutateRow', v2.MutateRowRequest, v2.MutateRowResponse),
    mutateRows: methodOf('MutateRows', v2.MutateRowsRequest, v2.MutateRowsResponse),
    checkAndMutateRow: methodOf(
      'CheckAndMutateRow',
      v2.CheckAndMutateRowRequest,
      v2.CheckAndMutateRowResponse,
    ),
  };
}

/** In Node, protobufjs encodes to a Buffer. */
function methodOf<Request, Response>(
  name: string,
  request: { encode: (message: Request) => { finish(): Uint8Array } },
  response: { decode: (bytes: Uint8Array) => Response },
): ApiMethod<Request, Response> {
  return {
    path: `/google.bigtable.v2.Bigtable/${name}`,
    encode: (message) => request.encode(message).finish() as Buffer,
    decode: (bytes) => response.decode(bytes),
  };
}

/*
 * The official clients of one server, for data, tables and instances, are loaded when the first
 * remote store is opened, not before: loading takes half a second, which users of the embedded
 * store should not pay. The messages' codecs come from the package below the official client's,
 * which does not export them.
 */

export type TableAdmin = v2.BigtableTableAdminClient;
export type InstanceAdmin = v2.BigtableInstanceAdminClient;
export type Protos = typeof bigtableApi.protos;
type Metadata = grpcJs.Metadata;

/** The part of the data service's stub that is used: calls by path, and the connection's state. */
export type Stub = Pick<
  grpcJs.Client,
  'makeUnaryRequest' | 'makeServerStreamRequest' | 'getChannel'
>;

export interface Clients {
  readonly stub: Stub;
  /** Whether the stub has no connection and no reason to give up; a look makes it connect. */
  readonly isConnecting: () => boolean;
  readonly tables: TableAdmin;
  readonly instances: InstanceAdmin;
  readonly messages: Protos['google']['bigtable']['v2'];
  readonly metadata: (headers: Readonly<Record<string, string>>) => Metadata;
  close(): Promise<void>;
}

/** Retries a lost connection in the time that a server needs to start, not in seconds. */
const RECONNECT = {
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 2000,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 5000,
};

const PACKAGES = ['@google-cloud/bigtable', '@google-cloud/bigtable-api', '@grpc/grpc-js'];

/**
 * @param plainAddress `host:port` of a server without TLS and credentials; undefined for Cloud
 *   Bigtable, with the usual credentials
 */
export async function createClients(plainAddress: string | undefined): Promise<Clients> {
  const [{ v2 }, api, grpc] = await loadPackages('Bigtable', PACKAGES, () =>
    Promise.all([
      import('@google-cloud/bigtable'),
      import('@google-cloud/bigtable-api'),
      import('@grpc/grpc-js'),
    ]),
  );
  const given = {
    ...RECONNECT,
    grpc,
    ...(plainAddress === undefined ? {} : plain(plainAddress, grpc)),
  };
  const data = new v2.BigtableClient(given);
  const tables = new v2.BigtableTableAdminClient(given);
  const instances = new v2.BigtableInstanceAdminClient(given);
  // Each looks for credentials; a failure must reach the caller here, not be unhandled later.
  const asking = plainAddress === undefined ? [tables, instances] : [];
  const all = [data, tables, instances];
  const stubs = await Promise.all([data, ...asking].map((one) => one.initialize())).catch(
    async (error: unknown) => {
      await Promise.allSettled(all.map((one) => one.close()));
      throw error;
    },
  );
  const [stub] = stubs as unknown as [Stub];
  return {
    stub,
    isConnecting: () => isConnecting(stub, grpc),
    tables,
    instances,
    messages: api.protos.google.bigtable.v2,
    metadata: (headers) => metadataOf(new grpc.Metadata(), headers),
    close: async () => {
      await Promise.all(all.map((one) => one.close()));
    },
  };
}

function isConnecting(stub: Stub, { connectivityState }: typeof grpcJs): boolean {
  const state = stub.getChannel().getConnectivityState(true);
  return state === connectivityState.IDLE || state === connectivityState.CONNECTING;
}

function plain(address: string, { credentials }: typeof grpcJs): Record<string, unknown> {
  const colon = address.lastIndexOf(':');
  return {
    servicePath: address.slice(0, colon),
    port: Number(address.slice(colon + 1)),
    sslCreds: credentials.createInsecure(),
    // No universe lookup: otherwise each client searches for Google's own machines around it, for
    // seconds.
    auth: { getUniverseDomain: () => Promise.resolve(UNIVERSE) },
    universeDomain: UNIVERSE,
  };
}

const UNIVERSE = 'googleapis.com';

function metadataOf(metadata: Metadata, headers: Readonly<Record<string, string>>): Metadata {
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}
