/** docs/observers.md: its samples are in the files that they name, its table has all observers. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { createObservers } from './pipeline.ts';
import { MemoryServingIndex } from './memory-serving-index.fixture.ts';

const page = readFileSync(path.join(import.meta.dirname, '../../../docs/observers.md'), 'utf8');
const samples = [...page.matchAll(/```ts\n\/\/ (\S+)\n([^]*?)```/gu)];

test('there are samples of code', () => {
  assert.ok(samples.length >= 5);
});

for (const [, file = '', code = ''] of samples) {
  test(`the sample of ${file} is in that file`, () => {
    const root = file.startsWith('engine/') ? '../../..' : '..';
    const source = readFileSync(path.join(import.meta.dirname, root, file), 'utf8');
    assert.ok(withoutIndents(source).includes(withoutIndents(code)), code);
  });
}

/** A sample may be indented otherwise than its file. */
function withoutIndents(text: string): string {
  return text.replaceAll(/^ +/gmu, '');
}

test('the table of observers has each of them, with its column', () => {
  const rows = [...page.matchAll(/^\| ([a-z ]+?) +\| `([a-z]+)` +\|/gmu)];
  const shown = rows.map(([, name = '', column = '']) => `${name.replaceAll(' ', '-')} ${column}`);
  const observers = createObservers(new MemoryServingIndex());
  const actual = observers.map(({ name, column }) => `${name} ${column}`);
  assert.deepEqual(shown.toSorted(), actual.toSorted());
});
