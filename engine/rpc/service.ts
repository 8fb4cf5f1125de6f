/**
 * A gRPC service as defined in its `.proto` file. The running program reads the file, so there is
 * no generated code to keep up to date. Whole numbers arrive as `number`; all of ours stay
 * below 2^53.
 */
import { fileURLToPath } from 'node:url';
import type * as GrpcJs from '@grpc/grpc-js';
import type { MethodDefinition, ServiceDefinition, status as Status } from '@grpc/grpc-js';
import type * as ProtoLoader from '@grpc/proto-loader';
import { assert, type ErrorCode, loadPackages, PercolatorError } from '../base/index.ts';

/**
 * What stays until an operator changes it arrives under its own code, as if the caller had asked
 * the store itself: trying again does not help. All else is the server's problem, which may pass.
 */
export const STAYING: readonly (readonly [ErrorCode, keyof typeof Status])[] = [
  ['INVALID_ARGUMENT', 'INVALID_ARGUMENT'],
  ['WRONG_DATABASE', 'FAILED_PRECONDITION'],
  ['ROLE_REFUSED', 'PERMISSION_DENIED'],
  ['STORE_REFUSED', 'ABORTED'], // Which gRPC never says on its own.
  ['WRONG_VERSION', 'OUT_OF_RANGE'],
  ['STORE_FULL', 'RESOURCE_EXHAUSTED'],
  ['STORE_DAMAGED', 'DATA_LOSS'],
];

/** The version of the protocol that this process speaks: that of all its messages. */
const VERSION = 1;

/** The message as this version sends it. */
export function versioned<Message extends object>(message: Message): Message {
  return { version: VERSION, ...message };
}

/**
 * Refuses a message of a version that this process does not know: a newer one may mean something
 * else by the same fields (P86, another version).
 * @param sender as in `the client`
 * @throws WRONG_VERSION
 */
export function checkVersion(sender: string, message: object): void {
  const { version = 0 } = message as { readonly version?: number };
  if (version === VERSION) return;
  const which = version > VERSION ? 'this process' : sender;
  const text = `${sender} speaks version ${version} of the protocol, and this process version ${VERSION}: update ${which}`;
  throw new PercolatorError('WRONG_VERSION', text);
}

/** What each server says of itself. */
export interface Description {
  /** The full name of its service. */
  readonly service: string;
  /** The identity of the database that it serves; empty if it serves all alike, or knows none. */
  readonly database: string;
  /** Whether another server serves now, and this one will when that one ceases to. */
  readonly isStandby: boolean;
}

export function describingService(): ServiceDefinition {
  return loadService(new URL('rpc.proto', import.meta.url), 'percolator.rpc.v1.Server');
}

/** With its package, as in `percolator.oracle.v1.TimestampOracle`. */
export function fullNameOf(service: ServiceDefinition): string {
  const [method] = Object.values(service);
  assert(method !== undefined, 'a service has a method');
  return method.path.split('/')[1] ?? '';
}

const services = new Map<string, ServiceDefinition>();

/**
 * Reads the file once.
 * @param name with its package, as in `percolator.oracle.v1.TimestampOracle`
 */
export function loadService(file: URL, name: string): ServiceDefinition {
  let service = services.get(name);
  if (service === undefined) {
    const { loadSync } = loaded().protoLoader;
    const definitions = loadSync(fileURLToPath(file), { longs: Number, defaults: true });
    service = definitions[name] as unknown as ServiceDefinition | undefined;
    assert(service !== undefined, `${file.pathname} defines the service ${name}`);
    services.set(name, service);
  }
  return service;
}

export function methodOf(
  service: ServiceDefinition,
  name: string,
): MethodDefinition<object, object> {
  const method = service[name] as MethodDefinition<object, object> | undefined;
  assert(method !== undefined, `the service has a method ${name}`);
  return method;
}

/*
 * The libraries of gRPC. The first server or client of a process loads them: loading takes as long
 * as all the rest of the engine, and most processes have neither server nor client, nor need the
 * packages.
 */

interface Libraries {
  readonly grpcJs: typeof GrpcJs;
  readonly protoLoader: typeof ProtoLoader;
}

const PACKAGES = ['@grpc/grpc-js', '@grpc/proto-loader'];
let libraries: Libraries | undefined;

/**
 * To be awaited before anything else of this folder is called; `startServer` and the clients do so
 * themselves.
 * @throws PACKAGE_MISSING
 */
export async function loadRpc(): Promise<void> {
  libraries ??= await loadPackages('an oracle or a lock service', PACKAGES, async () => {
    const js = import('@grpc/grpc-js');
    const loader = import('@grpc/proto-loader');
    const [grpcJs, protoLoader] = await Promise.all([js, loader]);
    return { grpcJs, protoLoader };
  });
}

export function grpc(): typeof GrpcJs {
  return loaded().grpcJs;
}

function loaded(): Libraries {
  assert(libraries !== undefined, 'the libraries of gRPC are loaded before they are used');
  return libraries;
}
