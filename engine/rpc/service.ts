/**
 * A gRPC service as defined in its `.proto` file. The running program reads the file, so there is
 * no generated code to keep up to date. Whole numbers arrive as `number`; all of ours stay
 * below 2^53.
 */
import { fileURLToPath } from 'node:url';
import type { MethodDefinition, ServiceDefinition, status as Status } from '@grpc/grpc-js';
import { assert, type ErrorCode } from '../base/index.ts';
import { loader } from './libraries.ts';

/**
 * What stays until an operator changes it arrives under its own code, as if the caller had asked
 * the store itself: trying again does not help. All else is the server's trouble, which may pass.
 */
export const STAYING: readonly (readonly [ErrorCode, keyof typeof Status])[] = [
  ['INVALID_ARGUMENT', 'INVALID_ARGUMENT'],
  ['WRONG_DATABASE', 'FAILED_PRECONDITION'],
  ['STORE_REFUSED', 'PERMISSION_DENIED'],
  ['STORE_FULL', 'RESOURCE_EXHAUSTED'],
  ['STORE_DAMAGED', 'DATA_LOSS'],
];

/** What each server says of itself. */
export interface Description {
  /** The full name of its service. */
  readonly service: string;
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

/** @param name with its package, as in `percolator.oracle.v1.TimestampOracle` */
export function loadService(file: URL, name: string): ServiceDefinition {
  const definitions = loader().loadSync(fileURLToPath(file), { longs: Number, defaults: true });
  const service = definitions[name];
  assert(service !== undefined, `${file.pathname} defines the service ${name}`);
  return service as unknown as ServiceDefinition;
}

export function methodOf(
  service: ServiceDefinition,
  name: string,
): MethodDefinition<object, object> {
  const method = service[name] as MethodDefinition<object, object> | undefined;
  assert(method !== undefined, `the service has a method ${name}`);
  return method;
}
