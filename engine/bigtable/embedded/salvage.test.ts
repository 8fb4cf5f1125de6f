/**
 * The claims of an opening that salvages: it reads every row of which all bytes are there, names
 * what is lost or says that this cannot be told, gives no wrong row without such a sentence, and
 * is the same as any other opening where nothing is damaged.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, hasCode } from '../../base/index.ts';
import { SimulatedDisk } from '../../testing/index.ts';
import type { Bigtable } from '../bigtable.ts';
import {
  closedStore,
  DAMAGES,
  type Files,
  FILTERS,
  open,
  SMALL,
  textOf,
} from './damage.fixture.ts';
import { rowKey, tablePrefix } from './keys.ts';
import type { Place } from './leaf.ts';
import { openOnDisk } from './open-embedded.ts';
import { longPlaces } from './page.ts';
import { bodyOf, nameOfLog } from './record.ts';
import { recover } from './recovery.ts';
import { NONE } from './sorted-index.ts';

/** Of such a store, a wrong row may be read: it was there before. */
const IN_DOUBT = /cannot be told|unless the damage is in a key/;

function salvaged(files: Files): Promise<Bigtable> {
  const disk = new SimulatedDisk({ random: createRandom(1) }, files);
  return openOnDisk(disk, { fsync: true, readOnly: true, salvage: true, sizes: SMALL });
}

const healthy = await closedStore();
const newest = [...healthy.files.keys()].findLast((name) => name.endsWith('.log')) as string;
const places = new Map(healthy.rows.map(([key]) => [key, placesOf(key)]));

/** Where everything is that the row needs. */
function placesOf(row: string): readonly Place[] {
  const { index } = recover(new SimulatedDisk({ random: createRandom(1) }, healthy.files));
  const found: Place[] = [];
  const key = rowKey(tablePrefix(1), row);
  for (let at = index.ceiling(key); at !== NONE && index.startsWith(at, key); at = index.next(at)) {
    const place = index.entry(at);
    const page = bodyOf(bytesAt(healthy.files, place), 0, place.length);
    found.push(place, ...longPlaces(page));
  }
  return found;
}

function bytesAt(files: Files, { file, offset, length }: Place): Buffer {
  return files.get(nameOfLog(file))?.subarray(offset, offset + length) ?? Buffer.alloc(0);
}

function isWhole(row: string, files: Files): boolean {
  const needed = places.get(row) ?? [];
  return needed.every((one) => bytesAt(files, one).equals(bytesAt(healthy.files, one)));
}

/** The text of each row; undefined for one that is said to be damaged. */
async function textsOf(store: Bigtable): Promise<readonly (string | undefined)[]> {
  const texts = healthy.rows.map(async ([key]) => {
    try {
      return textOf(await store.readRow('t', key, FILTERS));
    } catch (error) {
      assert.ok(hasCode(error, 'STORE_DAMAGED'), String(error));
      assert.equal(error.damagedRow?.row, key);
      return undefined;
    }
  });
  return Promise.all(texts);
}

async function isOpenedByAll(files: Files): Promise<boolean> {
  try {
    await (await open(new SimulatedDisk({ random: createRandom(1) }, files), true)).close();
    return true;
  } catch {
    return false;
  }
}

test('of a healthy store nothing is damaged', async () => {
  await using store = await salvaged(healthy.files);
  assert.deepEqual(store.damage, []);
  assert.deepEqual(
    await textsOf(store),
    healthy.rows.map(([, text]) => text),
  );
});

/** Judges one damaged store. Returns what was told of it. */
async function judge(files: Files): Promise<string> {
  const isOpened = await isOpenedByAll(files);
  let store: Bigtable;
  try {
    store = await salvaged(files);
  } catch (error) {
    assert.ok(hasCode(error, 'STORE_DAMAGED'), String(error));
    assert.match(
      error.message,
      /^the embedded store is damaged: (?:\d{10}\.log|index), byte \d+: /,
    );
    assert.equal(isOpened, false);
    return error.message;
  }
  await using _ = store;
  const damage = store.damage ?? [];
  const told = damage.map(({ sentence }) => sentence).join('\n');
  assert.equal(
    damage.every(({ severity }) => severity === 'warning'),
    isOpened,
    told,
  );
  for (const { sentence } of damage) assert.match(sentence, /\d{10}\.log|index|table/);
  if (!(await store.listTables()).includes('t')) {
    assert.ok(
      damage.some(({ hidesTables }) => hidesTables),
      told,
    );
    return told;
  }
  for (const [i, text] of (await textsOf(store)).entries()) {
    const [key, right] = healthy.rows[i] as (typeof healthy.rows)[number];
    if (isWhole(key, files)) assert.equal(text, right, `${key}\n${told}`);
    else assert.ok([undefined, right].includes(text) || IN_DOUBT.test(told), `${key}\n${told}`);
  }
  return told;
}

for (const [kind, damage] of Object.entries(DAMAGES)) {
  for (const alsoLost of [undefined, 'index']) {
    const also = alsoLost === undefined ? '' : ', without an index';
    test(`of a store with a file that is ${kind}${also}, every row is read that is whole`, async () => {
      const random = createRandom(3).fork(kind);
      const told = new Set<string>();
      for (const name of healthy.files.keys()) {
        // Without an index, a lost end of the log looks like one that was never written.
        if (alsoLost !== undefined && [alsoLost, newest].includes(name)) continue;
        for (let i = 0; i < 5; i++) told.add(await judge(damagedFiles(name, alsoLost)));
      }
      assert.ok(told.size > (kind.startsWith('longer') ? 0 : 1));

      function damagedFiles(name: string, lost: string | undefined): Files {
        const files = new Map(healthy.files);
        const changed = damage(files.get(name) as Buffer, random, files);
        if (changed === undefined) files.delete(name);
        else files.set(name, changed);
        if (lost !== undefined) files.delete(lost);
        return files;
      }
    });
  }
}

test('blocks that the disk cannot read cost the rows in them', async ({ mock }) => {
  const [row, [place]] = [...places].find(([, needed]) => needed[0] !== undefined) ?? ['', []];
  const { file, offset = 0 } = place ?? {};
  const name = nameOfLog(file ?? 0);
  const disk = new SimulatedDisk({ random: createRandom(1) }, healthy.files);
  const openFile = disk.open.bind(disk);
  mock.method(disk, 'open', (opened: string) => {
    const found = openFile(opened);
    const read = (target: Uint8Array, position: number): number => {
      const isThere = position <= offset && offset < position + target.length;
      if (opened === name && isThere) throw new Error('EIO: i/o error, read');
      return found.read(target, position);
    };
    return { ...found, read };
  });
  const settings = { fsync: true, readOnly: true, sizes: SMALL };
  await using store = await openOnDisk(disk, { ...settings, salvage: true });
  const texts = await textsOf(store);
  assert.equal(texts[healthy.rows.findIndex(([key]) => key === row)], undefined);
  for (const [i, text] of texts.entries()) {
    if (text !== undefined) assert.equal(text, healthy.rows[i]?.[1]);
  }
  assert.match(String(store.damage?.map(({ sentence }) => sentence)), new RegExp(name));
});
