/**
 * The transactions as functions in the server: one call, one round trip, and no logic on the client
 * side. Databases are measured in this way with TPC-E.
 */
import type pg from 'pg';
import type { Brokerage } from '../../model/index.ts';
import { Connections } from '../connections.ts';
import { readTables } from '../table-reader.ts';
import { CALLS, type PostgresBrokerUpdate } from './calls.ts';

export interface PostgresBrokerageOptions {
  /** Connects to a database that `loadPostgres` has filled. */
  readonly connection: pg.ClientConfig;
  readonly brokerUpdate: PostgresBrokerUpdate;
  /** At each isolation level: the maximum of transactions in flight. */
  readonly connectionsMax: number;
  /** The isolation of Trade-Result (connections.ts). Default `repeatable read`. */
  readonly tradeResults?: 'repeatable read' | 'serializable' | undefined;
}

export function openFunctions(options: PostgresBrokerageOptions): Brokerage {
  const {
    connection,
    brokerUpdate,
    connectionsMax,
    tradeResults: level3 = 'repeatable read',
  } = options;
  const connections = new Connections(connection, { connectionsMax, level3, pipeline: false });
  return {
    name: 'PostgreSQL, functions in the server',
    brokerUpdate,
    execute: (type, input) => {
      const { name, values } = CALLS[type];
      const given = values(input, brokerUpdate);
      const text = `SELECT ${name}(${given.map((_, i) => `$${i + 1}`).join(', ')}) AS result`;
      return connections.execute(type, async (client) => {
        const { rows } = await client.query({ name, text, values: [...given] });
        return rows[0].result;
      });
    },
    settled: async () => {},
    tables: readTables(connection),
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}
