/**
 * Power cuts of a real folder: what was acknowledged is there, and a store that syncs less loses
 * it.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { type Bigtable, createRandom, openEmbedded } from '#engine';
import { temporaryFolder } from '#engine/testing';
import { recordDisk, recordOf } from './disk-record.ts';
import { cutPower, type PowerCut } from './power-cut.ts';

const CUTS = 20;

/** Power cuts of one folder, and what was found when it was opened after each. */
interface CutsFound {
  readonly cuts: readonly PowerCut[];
  /** The rows of each cut; an error's message where the store was refused. */
  readonly rows: readonly string[];
}

async function put(store: Bigtable, row: string): Promise<void> {
  const value = Buffer.alloc(3_000, row);
  const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: 1, value } as const;
  await store.mutateRows([{ table: 't', row, mutations: [set] }]);
}

interface Scene {
  /** Whether the store waits for the disk. */
  readonly fsync: boolean;
  /** Default: a temporary folder. */
  readonly place?: string;
  /**
   * Whether sync n, from 0, is passed on to the system; the store believes that all are. Default:
   * yes.
   */
  readonly isDone?: ((n: number) => boolean) | undefined;
}

/** Two owners write ten rows each, acknowledged, and one more in flight; then the power is cut. */
async function cutsOf({
  fsync,
  isDone = () => true,
  place = temporaryFolder(),
}: Scene): Promise<CutsFound> {
  const [folder, record] = [path.join(place, 'store'), path.join(place, 'disk')];
  using _ = recordDisk(folder, record);
  let syncs = 0;
  let beforeLast: Buffer | undefined;
  let isLast = false;
  const { fdatasync } = fs;
  fs.fdatasync = ((file: number, done: (error: null) => void) => {
    if (isLast) beforeLast ??= fs.readFileSync(recordOf(record));
    if (isDone(syncs++)) fdatasync(file, done as () => void);
    else setImmediate(done, null);
  }) as typeof fdatasync;
  const first = await openEmbedded({ folder, fsync });
  await first.createTable('t', { families: ['f'] });
  for (let i = 0; i < 10; i++) await put(first, `a${i}`);
  await first.close();
  await using second = await openEmbedded({ folder, fsync });
  for (let i = 0; i < 10; i++) await put(second, `b${i}`);
  isLast = true;
  await put(second, 'last');
  if (beforeLast !== undefined) fs.writeFileSync(recordOf(record), beforeLast);
  const cuts: PowerCut[] = [];
  const rows: string[] = [];
  for (let seed = 0; seed < CUTS; seed++) {
    const to = path.join(place, `cut-${seed}`);
    cuts.push(await cutPower(record, to, createRandom(seed)));
    rows.push(await rowsOf(to).catch(({ message }: Error) => message));
  }
  return { cuts, rows };
}

async function rowsOf(folder: string): Promise<string> {
  await using store = await openEmbedded({ folder });
  const rows = await store.readRange('t', { limit: 99 }, [{ family: 'f' }]);
  return rows.map(({ key }) => key).join(' ');
}

const ACKNOWLEDGED = ['a', 'b']
  .flatMap((name) => Array.from({ length: 10 }, (_, i) => `${name}${i}`))
  .join(' ');

describe('after a power cut', () => {
  test('what was acknowledged is there, and what was in flight is there or not', async () => {
    const { cuts, rows } = await cutsOf({ fsync: true });
    assert.deepEqual(new Set(rows), new Set([ACKNOWLEDGED, `${ACKNOWLEDGED} last`]));
    assert.ok(cuts.every(({ bytesAtRisk }) => bytesAtRisk > 3_000 && bytesAtRisk < 9_000));
    assert.ok(cuts.some(({ bytesLost }) => bytesLost > 0));
  });

  test('what was acknowledged is there, also in a folder that is named by a relative path', async () => {
    const { rows } = await cutsOf({
      fsync: true,
      place: path.relative(process.cwd(), temporaryFolder()),
    });
    assert.deepEqual(new Set(rows), new Set([ACKNOWLEDGED, `${ACKNOWLEDGED} last`]));
  });

  test('a store that does not sync has lost what it acknowledged', async () => {
    const { rows } = await cutsOf({ fsync: false });
    assert.ok(rows.filter((found) => !found.startsWith(ACKNOWLEDGED)).length > CUTS / 4);
  });

  test('a store whose syncs silently do nothing after the tenth has lost what it acknowledged', async () => {
    const { rows } = await cutsOf({ fsync: true, isDone: (n) => n < 10 });
    assert.ok(rows.filter((found) => !found.startsWith(ACKNOWLEDGED)).length > CUTS / 4);
  });
});
