/** docs/cells.md shows cells as the storage has them. This test makes them, and compares. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Row } from '../bigtable/index.ts';
import { openTestDatabase } from '../testing/index.ts';
import { CELLS } from './columns.ts';

const PAGE = path.join(import.meta.dirname, '../../docs/cells.md');

test('docs/cells.md shows the cells of the transfer of Figure 4, step by step', async () => {
  const database = await openTestDatabase({ tables: ['accounts'] });
  database.oracle.skipTo(5);
  const client = database.client('a worker', { ordered: false });
  await client.write({ 'accounts/Bob:bal': '$10', 'accounts/Joe:bal': '$2' });
  const steps: string[] = [];
  const look = async (): Promise<void> => {
    const rows = await database.store.readRange('accounts', { limit: 9 }, [{ family: CELLS }]);
    steps.push(rows.map(textOf).join('\n'));
  };
  client.store.afterCall = async ({ kind }) => {
    if (kind === 'mutation') await look();
  };
  await client.write({ 'accounts/Bob:bal': '$3', 'accounts/Joe:bal': '$9' });
  const page = readFileSync(PAGE, 'utf8');
  const shown = [...page.matchAll(/^```text\n(.*?)\n```$/gms)].map(([, cells]) => cells);
  assert.deepEqual(shown, steps.slice(1)); // The page leaves out the state with one lock.
});

/** As `Bob  bal:data    @7  $3`, with one line for each cell. */
function textOf({ key, cells }: Row): string {
  return cells
    .map(({ qualifier, timestamp, value }) =>
      [key, qualifier.padEnd(10), `@${timestamp}`, Buffer.from(value).toString()].join('  '),
    )
    .join('\n');
}
