/**
 * The transactions as functions in the server: one call, one round trip, and no logic on the client
 * side. Databases are measured in this way with TPC-E.
 */
import type { Brokerage } from '../../model/index.ts';
import { brokerageOn, type PostgresBrokerageOptions } from '../brokerage.ts';
import { CALLS } from './calls.ts';

export function openFunctions(options: PostgresBrokerageOptions): Brokerage {
  const variant = { name: 'PostgreSQL, functions in the server', pipeline: false };
  return brokerageOn(options, variant, (connections) => (type, input) => {
    const { name, values } = CALLS[type];
    const given = values(input, options.brokerUpdate);
    const text = `SELECT ${name}(${given.map((_, i) => `$${i + 1}`).join(', ')}) AS result`;
    return connections.execute(type, async (client) => {
      const { rows } = await client.query({ name, text, values: [...given] });
      return rows[0].result;
    });
  });
}
