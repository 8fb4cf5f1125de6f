/** What both variants of the brokerage on PostgreSQL share: all except how a transaction runs. */
import type pg from 'pg';
import type { Brokerage } from '../model/index.ts';
import { Connections } from './connections.ts';
import type { PostgresBrokerUpdate } from './functions/calls.ts';
import { readTables } from './table-reader.ts';

export interface PostgresBrokerageOptions {
  /** Connects to a database that `loadPostgres` has filled. */
  readonly connection: pg.ClientConfig;
  readonly brokerUpdate: PostgresBrokerUpdate;
  /** Maximum number of transactions in flight at each isolation level. */
  readonly connectionsMax: number;
  /** The isolation of Trade-Result (connections.ts). Default `repeatable read`. */
  readonly tradeResults?: 'repeatable read' | 'serializable' | undefined;
}

interface Variant {
  readonly name: string;
  /** Whether a connection may have several statements in flight. */
  readonly pipeline: boolean;
}

export function brokerageOn(
  options: PostgresBrokerageOptions,
  { name, pipeline }: Variant,
  executeOn: (connections: Connections) => Brokerage['execute'],
): Brokerage {
  const { connection, brokerUpdate, connectionsMax } = options;
  const level3 = options.tradeResults ?? 'repeatable read';
  const connections = new Connections(connection, { connectionsMax, level3, pipeline });
  return {
    name,
    brokerUpdate,
    execute: executeOn(connections),
    settled: async () => {},
    tables: readTables(connection),
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}
