/**
 * A folder that Node, Deno and Bun share. Where one of them is missing, one line says so, and how
 * to get it. README's example runs in all three from the packed engine (pack/main.slow.test.ts).
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa, type ResultPromise } from 'execa';
import { openPercolator } from '#engine';
import { temporaryFolder } from '#engine/testing';
import { findRuntimes } from './runtimes.ts';

const INCREMENT = fileURLToPath(new URL('increment.fixture.ts', import.meta.url));
const COUNT = 10;

type Child = ResultPromise<object>;

const found = await findRuntimes();

for (const fsync of [true, false]) {
  test(`no increment is lost in a folder that Node, Deno and Bun share, ${fsync ? 'with' : 'without'} fsync`, async (t) => {
    const missing = ['Deno', 'Bun'].find((name) => found.every((one) => one.name !== name));
    if (missing !== undefined) {
      t.skip(`${missing} is not here: run ./run.sh fetch`);
      return;
    }
    const folder = temporaryFolder();
    const all = [[process.execPath], ...found.map(({ command }) => command)];
    const start = async ([command = '', ...words]: readonly string[]): Promise<{
      readonly child: Child;
    }> => {
      const child = execa(command, [...words, INCREMENT, folder, String(fsync), String(COUNT)]);
      await Promise.race([once(child.stdout, 'data'), child]); // It has opened the folder, or fails.
      return { child };
    };
    for (const owner of all) {
      const children = [await start(owner)]; // The others go through it.
      for (const other of all) children.push(await start(other));
      for (const { child } of children) child.stdin.end();
      for (const { child } of children) assert.equal((await child).stdout, `open\n${COUNT}`);
    }
    await using percolator = await openPercolator({ folder, fsync });
    const cell = { table: 'counters', row: 'shared', column: 'count' };
    const count = await percolator.transact((transaction) => transaction.get(cell));
    assert.equal(Number(count), COUNT * all.length * (all.length + 1));
  });
}
