/** The messages between server.ts and client.ts, as in lock-service.proto. */
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadService } from '../rpc/index.ts';
import type { LockedRange } from './range-locks.ts';

export interface Beat {
  readonly token: string;
  readonly ttlMs: number;
  readonly isLeaving?: boolean;
}

export interface LivenessChanges {
  readonly dead?: readonly string[];
  readonly alive?: readonly string[];
}

export interface LockRangeRequest extends LockedRange {
  readonly token: string;
}

/** The number of a lock; 0 if there is none. */
export interface Numbered {
  readonly number: number;
}

/** @internal */
export function lockService(): ServiceDefinition {
  const file = new URL('lock-service.proto', import.meta.url);
  return loadService(file, 'percolator.locks.v1.LockService');
}
