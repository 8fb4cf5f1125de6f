/** The names of cells in histories: no two cells share a name, and plain names stay as they are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../../engine/base/index.ts';
import { addressOf, historicCell } from './history.ts';

test('plain names are written as they are', () => {
  assert.equal(historicCell({ table: 't', row: 'a', column: 'c' }), 't/a:c');
  assert.equal(historicCell({ table: 't', row: 'a/b', column: 'ack_o:c' }), 't/a/b:ack_o:c');
});

test('every cell has a unique name, from which its address can be read', () => {
  const random = createRandom(1);
  const parts = ['a', '\0', ':', '/', '%', '%3a', '%2f', '%25', '\u{1f9d0}'];
  const some = (): string =>
    Array.from({ length: random.integer(0, 4) }, () => random.pick(parts)).join('');
  const cells = new Map<string, string>();
  for (let i = 0; i < 20_000; i++) {
    const address = { table: some(), row: some(), column: some() };
    const name = historicCell(address);
    assert.deepEqual(addressOf(name), address);
    const text = JSON.stringify(address);
    assert.equal(cells.get(name) ?? text, text);
    cells.set(name, text);
  }
});
