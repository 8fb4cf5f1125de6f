/** A loaded database, as plain data: each client process opens it by this. */
import type pg from 'pg';
import type { StoreAddress } from '#engine';
import type { Place } from '../../harness/processes/index.ts';
import type { DatabaseValues } from '../../harness/engine-settings.ts';
import type { BrokerUpdate } from '../model/index.ts';

export type DatabaseAddress = PercolatorAddress | PostgresAddress;

export interface PercolatorAddress {
  readonly kind: 'percolator';
  /** A client of its own oracle and liveness; or one of several that share them. */
  readonly at: { readonly store: StoreAddress } | { readonly place: Place };
  readonly brokerUpdate: BrokerUpdate;
  readonly engine: DatabaseValues;
  /** Whether calls of the store are counted, which costs a little. */
  readonly countsCalls: boolean;
}

export interface PostgresAddress {
  readonly kind: 'postgres';
  readonly connection: pg.ClientConfig;
  /** Where transactions run: in the server, or here, statement by statement. */
  readonly way: 'functions' | 'frames';
  readonly brokerUpdate: Exclude<BrokerUpdate, 'side-table'>;
  /** At each level of isolation. */
  readonly connectionsMax: number;
}
