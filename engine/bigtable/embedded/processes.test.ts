/** `kill -9` of the process that owns a store loses nothing. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openEmbedded } from './index.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { openWithTable, setRow } from '../../testing/small-rows.ts';

const WRITE = fileURLToPath(new URL('write.fixture.ts', import.meta.url));
const FILTERS = [{ family: 'data' }, { family: 'lock' }];

test('kill -9 loses no acknowledged write and leaves no half row, and the next process writes at once', async () => {
  const folder = temporaryFolder();
  await (await openWithTable(folder)).close();
  const acknowledged: string[] = [];
  for (const [life, count] of [1, 40, 150].entries()) {
    acknowledged.push(...(await writeUntilKilled(folder, `life-${life}-`, count)));
    await using store = await openEmbedded({ folder });
    await store.mutateRows([setRow(`alive-${life}`)]);
    const rows = await store.readRange('t', { start: 'life', limit: 1_000_000 }, FILTERS);
    for (const { key, cells } of rows) {
      assert.deepEqual(
        cells.map((cell) => `${cell.family}=${Buffer.from(cell.value).toString()}`),
        [`data=${key}`, `lock=${key}`],
      );
    }
    const present = new Set(rows.map((row) => row.key));
    assert.deepEqual(
      acknowledged.filter((row) => !present.has(row)),
      [],
    );
  }
});

/** The keys that a writing process printed until it was killed, after its `count`-th. */
async function writeUntilKilled(folder: string, prefix: string, count: number): Promise<string[]> {
  const child = spawn(process.execPath, [WRITE, folder, prefix], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const acknowledged: string[] = [];
  for await (const row of createInterface({ input: child.stdout })) {
    acknowledged.push(row);
    if (acknowledged.length === count) child.kill('SIGKILL');
  }
  await exited; // The lock ends with the process.
  assert.ok(acknowledged.length >= count);
  return acknowledged;
}
