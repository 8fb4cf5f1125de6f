/**
 * The libraries of gRPC. The first server or client of a process loads them: loading takes as long
 * as all the rest of the engine, and most processes have neither server nor client.
 */
import { createRequire } from 'node:module';
import type * as grpcJs from '@grpc/grpc-js';
import type * as protoLoader from '@grpc/proto-loader';

const require = createRequire(import.meta.url);

export function grpc(): typeof grpcJs {
  return require('@grpc/grpc-js') as typeof grpcJs;
}

export function loader(): typeof protoLoader {
  return require('@grpc/proto-loader') as typeof protoLoader;
}
