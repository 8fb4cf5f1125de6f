/** A loaded database as plain data, from which each client process opens it. */
import type pg from 'pg';
import type { StoreAddress } from '#engine';
import type { SharedDatabase } from '../../harness/processes/index.ts';
import type { DatabaseValues } from '../../harness/engine-settings.ts';
import type { BrokerUpdate } from '../model/index.ts';

export type DatabaseAddress = PercolatorAddress | PostgresAddress;

export interface PercolatorAddress {
  readonly kind: 'percolator';
  /** Either a client with its own oracle and liveness, or one of several that share them. */
  readonly at: { readonly store: StoreAddress } | { readonly shared: SharedDatabase };
  readonly brokerUpdate: BrokerUpdate;
  readonly engine: DatabaseValues;
  /** Whether calls of the store are counted, which has a small cost. */
  readonly countsCalls: boolean;
}

export interface PostgresAddress {
  readonly kind: 'postgres';
  /** Without its password: addresses are arguments of processes. */
  readonly connection: pg.ClientConfig;
  /** Where transactions run: in the server, or in the client, statement by statement. */
  readonly variant: 'functions' | 'frames';
  readonly brokerUpdate: Exclude<BrokerUpdate, 'side-table'>;
  /** Of each client, at each isolation level. */
  readonly connectionsMax: number;
}
