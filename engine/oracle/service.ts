/** The messages between server.ts and client.ts, as in oracle.proto. */
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadService } from '../rpc/index.ts';

export interface AllocateRequest {
  readonly count: number;
}

export interface AllocateResponse {
  readonly first: number;
  readonly horizon: number;
  readonly epoch: number;
  readonly drops: number;
}

export interface RaiseHorizonRequest {
  readonly horizon: number;
}

export interface HorizonResponse {
  readonly horizon: number;
  readonly epoch: number;
}

export interface DropsResponse {
  readonly drops: number;
  readonly epoch: number;
}

export function oracleService(): ServiceDefinition {
  const file = new URL('oracle.proto', import.meta.url);
  return loadService(file, 'percolator.oracle.v1.TimestampOracle');
}
