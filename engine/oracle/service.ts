/** The messages between server.ts and client.ts, as in oracle.proto. */
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadService } from '../rpc/index.ts';

export interface AllocateRequest {
  readonly count: number;
}

/** What every answer says. */
export interface OfOracle {
  readonly epoch: number;
  /** Empty if an older version of the engine answers. */
  readonly identity: string;
}

export interface AllocateResponse extends OfOracle {
  readonly first: number;
  readonly horizon: number;
  readonly drops: number;
}

/** A request that changes something. The identity is empty if the client knows none. */
export interface ChangeRequest {
  readonly identity: string;
}

export interface RaiseHorizonRequest extends ChangeRequest {
  readonly horizon: number;
}

export interface HorizonResponse extends OfOracle {
  readonly horizon: number;
  /** The newest timestamp that was handed out; 0 if that is not known. */
  readonly newest: number;
}

export interface DropsResponse extends OfOracle {
  readonly drops: number;
}

/** @internal */
export function oracleService(): ServiceDefinition {
  const file = new URL('oracle.proto', import.meta.url);
  return loadService(file, 'percolator.oracle.v1.TimestampOracle');
}
