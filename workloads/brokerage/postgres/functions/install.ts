/** Installs the transactions in the server, each from its own file. */
import { readFile } from 'node:fs/promises';
import type pg from 'pg';

/** `trade-selection` contains functions that others call. */
const FILES = [
  'trade-status',
  'customer-position',
  'market-watch',
  'broker-volume',
  'security-detail',
  'trade-selection',
  'trade-lookup',
  'trade-update',
  'trade-order',
  'trade-result',
  'market-feed',
  'data-maintenance',
  'trade-cleanup',
] as const;

export async function installFunctions(client: pg.Client): Promise<void> {
  for (const file of FILES) {
    await client.query(await readFile(new URL(`${file}.sql`, import.meta.url), 'utf8'));
  }
}
