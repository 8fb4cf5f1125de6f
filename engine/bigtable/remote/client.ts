/**
 * The official clients of one server: data, tables and instances.
 *
 * They are loaded when the first remote store is opened, not before: loading takes half a second,
 * which users of the embedded store should not pay. The messages' codecs come from the package
 * below the official client's, which does not export them.
 */
import type * as bigtableApi from '@google-cloud/bigtable-api';
import type { v2 } from '@google-cloud/bigtable';
import type * as grpcJs from '@grpc/grpc-js';
import type { Clock } from '../../base/index.ts';
import { CLOCK_OPTION, type Stub, withFastStub } from './http2/stub.ts';

export type TableAdmin = v2.BigtableTableAdminClient;
export type InstanceAdmin = v2.BigtableInstanceAdminClient;
export type Protos = typeof bigtableApi.protos;
export type Metadata = grpcJs.Metadata;

export interface Clients {
  readonly stub: Stub;
  readonly tables: TableAdmin;
  readonly instances: InstanceAdmin;
  readonly messages: Protos['google']['bigtable']['v2'];
  readonly metadata: (headers: Readonly<Record<string, string>>) => Metadata;
  close(): Promise<void>;
}

export interface ServerOptions {
  readonly clock: Clock;
  /**
   * `host:port` of a server without TLS and credentials. Absent: Cloud Bigtable, with the usual
   * credentials.
   */
  readonly plainAddress?: string | undefined;
  /** Uses grpc-js even where the fast class could be used, to compare the two. Default false. */
  readonly plainGrpc?: boolean | undefined;
}

/** Retries a lost connection in the time that a server needs to start, not in seconds. */
const RECONNECT = {
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 2000,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 5000,
};

export async function createClients(options: ServerOptions): Promise<Clients> {
  const [{ v2 }, api, grpc] = await Promise.all([
    import('@google-cloud/bigtable'),
    import('@google-cloud/bigtable-api'),
    import('@grpc/grpc-js'),
  ]);
  const given = {
    ...RECONNECT,
    grpc: withFastStub(grpc),
    ...(options.plainAddress === undefined ? {} : plain(options.plainAddress, grpc)),
  };
  const isFast = options.plainAddress !== undefined && options.plainGrpc !== true;
  const data = new v2.BigtableClient(isFast ? { ...given, [CLOCK_OPTION]: options.clock } : given);
  const tables = new v2.BigtableTableAdminClient(given);
  const instances = new v2.BigtableInstanceAdminClient(given);
  // Each looks for credentials; a failure must reach the caller here, not be unhandled later.
  const asking = options.plainAddress === undefined ? [tables, instances] : [];
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
    tables,
    instances,
    messages: api.protos.google.bigtable.v2,
    metadata: (headers) => metadataOf(new grpc.Metadata(), headers),
    close: async () => {
      await stub.closed?.();
      await Promise.all(all.map((one) => one.close()));
    },
  };
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
