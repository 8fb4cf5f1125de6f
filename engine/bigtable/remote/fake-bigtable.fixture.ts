/**
 * A server with scripted answers, because the emulator cannot fail as Cloud Bigtable does.
 *
 * It speaks gRPC through grpc-js. Calls that a test does not script are answered as in `DEFAULTS`:
 * there is one table, `t`, with the family `data` and no rows; but every check finds a cell.
 * Methods that are not there are unimplemented.
 */
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js';
import { protos } from '@google-cloud/bigtable-api';

type Admin = typeof protos.google.bigtable.admin.v2;
const data = protos.google.bigtable.v2;
const admin: Admin = protos.google.bigtable.admin.v2;

/** Answers one call: with messages, or with the status it fails with. */
export type ScriptedAnswer =
  | { readonly answers: readonly object[] }
  | { readonly code: number; readonly details: string };

export interface FakeBigtable extends AsyncDisposable {
  readonly address: string;
  /** Every call so far. */
  readonly calls: {
    readonly method: string;
    readonly request: object;
    readonly headers: Metadata;
  }[];
  /** Scripts the answers to the next calls of a method; the last one repeats. */
  answer(method: string, ...answers: readonly ScriptedAnswer[]): void;
  stop(): Promise<void>;
}

const TABLE = { name: 'projects/p/instances/i/tables/t', columnFamilies: { data: {} } };
const PROFILE = { name: 'default', singleClusterRouting: { allowTransactionalWrites: true } };

const DEFAULTS: Readonly<Record<string, ScriptedAnswer>> = {
  ListTables: { answers: [{ tables: [TABLE] }] },
  GetTable: { answers: [TABLE] },
  GetAppProfile: { answers: [PROFILE] },
  MutateRow: { answers: [{}] },
  CheckAndMutateRow: { answers: [{ predicateMatched: true }] },
  ReadRows: { answers: [] },
};

export async function startFake(): Promise<FakeBigtable> {
  const calls: FakeBigtable['calls'] = [];
  const script = new Map<string, ScriptedAnswer[]>();
  const server = new Server();
  const next = (method: string): ScriptedAnswer => {
    const left = script.get(method) ?? [];
    const answer = left.length > 1 ? left.shift() : left[0];
    return answer ?? DEFAULTS[method] ?? { code: status.UNIMPLEMENTED, details: method };
  };
  for (const [service, methods] of Object.entries(SERVICES)) {
    server.addService(definitionOf(service, methods), handlersOf(methods, calls, next));
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  const stop = async (): Promise<void> => server.forceShutdown();
  return {
    address: `127.0.0.1:${port}`,
    calls,
    answer: (method, ...answers) => void script.set(method, [...answers]),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

type Codec = {
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  fromObject(message: object): object;
};
type Methods = Readonly<Record<string, readonly [request: unknown, response: unknown]>>;

const SERVICES: Readonly<Record<string, Methods>> = {
  'google.bigtable.v2.Bigtable': {
    ReadRows: [data.ReadRowsRequest, data.ReadRowsResponse],
    MutateRow: [data.MutateRowRequest, data.MutateRowResponse],
    MutateRows: [data.MutateRowsRequest, data.MutateRowsResponse],
    CheckAndMutateRow: [data.CheckAndMutateRowRequest, data.CheckAndMutateRowResponse],
    SampleRowKeys: [data.SampleRowKeysRequest, data.SampleRowKeysResponse],
  },
  'google.bigtable.admin.v2.BigtableTableAdmin': {
    CreateTable: [admin.CreateTableRequest, admin.Table],
    GetTable: [admin.GetTableRequest, admin.Table],
    ListTables: [admin.ListTablesRequest, admin.ListTablesResponse],
    DeleteTable: [admin.DeleteTableRequest, protos.google.protobuf.Empty],
  },
  'google.bigtable.admin.v2.BigtableInstanceAdmin': {
    GetAppProfile: [admin.GetAppProfileRequest, admin.AppProfile],
  },
};

const STREAMING: ReadonlySet<string> = new Set(['ReadRows', 'MutateRows', 'SampleRowKeys']);

function definitionOf(service: string, methods: Methods): ServiceDefinition {
  return Object.fromEntries(
    Object.entries(methods).map(([name, [request, response]]) => [
      name,
      {
        path: `/${service}/${name}`,
        requestStream: false,
        responseStream: STREAMING.has(name),
        ...serializers(request as Codec, response as Codec),
      },
    ]),
  );
}

function serializers(
  request: Codec,
  response: Codec,
): Pick<
  ServiceDefinition[string],
  'requestSerialize' | 'requestDeserialize' | 'responseSerialize' | 'responseDeserialize'
> {
  return {
    requestSerialize: (message: object) => request.encode(message).finish() as Buffer,
    requestDeserialize: (bytes: Buffer) => request.decode(bytes),
    responseSerialize: (message: object) =>
      response.encode(response.fromObject(message)).finish() as Buffer,
    responseDeserialize: (bytes: Buffer) => response.decode(bytes),
  };
}

interface IncomingCall {
  readonly request: object;
  readonly metadata: Metadata;
  write?(answer: object): void;
  end?(): void;
  emit?(event: string, error: object): void;
}
type Done = (error: object | null, answer?: object) => void;

function handlersOf(
  methods: Methods,
  calls: FakeBigtable['calls'],
  next: (method: string) => ScriptedAnswer,
): Record<string, (call: IncomingCall, done: Done) => void> {
  return Object.fromEntries(
    Object.keys(methods).map((method) => [
      method,
      (call: IncomingCall, done: Done): void => {
        calls.push({ method, request: call.request, headers: call.metadata });
        const answer = next(method);
        if (call.write === undefined) {
          if ('answers' in answer) done(null, answer.answers[0]);
          else done(answer);
          return;
        }
        if ('answers' in answer) for (const one of answer.answers) call.write(one);
        else call.emit?.('error', answer);
        if ('answers' in answer) call.end?.();
      },
    ]),
  );
}
