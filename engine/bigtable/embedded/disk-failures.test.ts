/**
 * Claims about a disk that fails, with real failures of real calls: every caller receives the right
 * error code, and the process lives (P11, P58). Also: data reported as on the disk was synced.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { FAULT, type FaultyDisk, makeFaultyDisk } from './faulty-disk.fixture.ts';

const ENGINE = new URL('../../index.ts', import.meta.url).href;
const folder = temporaryFolder();
const disk = makeFaultyDisk(folder);

interface Heard {
  /** The answers to two mutations of one group. */
  readonly group: readonly string[];
  /** The answers to some mutations sent while that group committed, and to one sent long after. */
  readonly gathered: readonly string[];
  readonly later: string;
  readonly read: string;
  readonly close: string;
  /** The rows that exist after the same process has reopened the store, joined by commas. */
  readonly rows: string;
  readonly unhandled: readonly string[];
}

/**
 * Two mutations in a group whose commit fails, some right after them, one later, and a read; then
 * reopens the store.
 */
function hear(kind: string, where: string): Heard {
  const { printed } = onDisk().run(`
    import { openEmbedded } from '${ENGINE}';
    import { failNext } from '${FAULT}';
    const unhandled = [];
    process.on('unhandledRejection', (error) => unhandled.push(String(error)));
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const within = (promise) => Promise.race([
      promise.then((value) => value ?? 'done', (error) => error.code ?? String(error)),
      sleep(5_000).then(() => 'no answer'),
    ]);
    const open = () => openEmbedded({ folder: '${where}' });
    const store = await open();
    await store.createTable('t', { families: ['f'] });
    const put = (row) => {
      const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: 1, value: Buffer.alloc(100) };
      return within(store.mutateRows([{ table: 't', row, mutations: [set] }]));
    };
    await put('before');
    failNext('${kind}');
    const group = [put('a'), put('b')];
    const gathered = [];
    for (let i = 0; i < 20; i++) {
      await new Promise(setImmediate);
      gathered.push(put('gathered ' + i));
    }
    const heard = { group: await Promise.all(group), gathered: await Promise.all(gathered) };
    heard.later = await put('later');
    heard.read = await within(store.readRow('t', 'before', [{ family: 'f' }]).then((row) => row.key));
    await sleep(50);
    heard.close = await within(store.close());
    const again = await open();
    const rows = await again.readRange('t', { limit: 100 }, [{ family: 'f' }]);
    await again.close();
    console.log(JSON.stringify({ ...heard, rows: rows.map(({ key }) => key).join(), unhandled }));
    process.exit();
  `);
  return printed as Heard;
}

function assertAmong(heard: readonly string[], expected: readonly string[]): void {
  assert.deepEqual(
    heard.filter((one) => !expected.includes(one)),
    [],
  );
}

function onDisk(): FaultyDisk {
  assert.ok(typeof disk !== 'string');
  return disk;
}

describe('on a disk that fails', { skip: typeof disk === 'string' ? disk : false }, () => {
  for (const kind of ['pages', 'sync']) {
    test(`P58: a group whose ${kind} failed was not applied, its callers learn so, and the next one works`, () => {
      const { gathered, rows, ...heard } = hear(kind, `store-${kind}`);
      assert.deepEqual(heard, {
        group: ['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
        later: 'done',
        read: 'before',
        close: 'done',
        unhandled: [],
      });
      const applied = gathered.flatMap((one, i) => (one === 'done' ? [`gathered ${i}`] : []));
      assert.deepEqual(rows.split(','), ['before', ...applied, 'later'].toSorted());
      assertAmong(gathered, ['done', 'STORE_UNAVAILABLE']);
    });
  }

  test('P11, P58: a group that failed at its commit point is in doubt; the store closes itself, and can be reopened', () => {
    const { gathered, rows, ...heard } = hear('meta', 'store-meta');
    assert.deepEqual(heard, {
      group: ['STORE_IN_DOUBT', 'STORE_IN_DOUBT'],
      later: 'STORE_CLOSED',
      read: 'STORE_CLOSED',
      close: 'done',
      unhandled: [],
    });
    assertAmong(gathered, ['STORE_IN_DOUBT', 'STORE_CLOSED']);
    assert.equal(rows, 'before');
  });

  for (const [kind, expected] of Object.entries({
    pages: { heard: 'committed', names: false, outcome: 'committed', value: '1' },
    meta: { heard: 'COMMIT_UNKNOWN', names: true, outcome: 'rolled back', value: 'nothing' },
  })) {
    test(`P11: a transaction whose commit failed at the ${kind} receives ${expected.heard}, which is true`, () => {
      const { printed } = onDisk().run(transactionProgram(kind, `percolator-${kind}`));
      assert.deepEqual(printed, { ...expected, unhandled: [] });
    });
  }

  test('with fsync every commit is synced before it is answered, and without it none is', () => {
    const syncs = (fsync: boolean): number => {
      const { synced } = onDisk().run(`
        import { openEmbedded } from '${ENGINE}';
        const store = await openEmbedded({ folder: 'synced-${fsync}', fsync: ${fsync} });
        await store.createTable('t', { families: ['f'] });
        for (let i = 0; i < 20; i++) {
          const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: 1, value: Buffer.alloc(100) };
          await store.mutateRows([{ table: 't', row: String(i), mutations: [set] }]);
        }
        await store.close();
        console.log('null');
      `);
      return synced.filter((path) => path.endsWith(`synced-${fsync}/data.mdb`)).length;
    };
    assert.ok(syncs(true) >= 21, `${syncs(true)} syncs for 21 commits`);
    assert.ok(syncs(false) <= 2, `${syncs(false)} syncs for none`);
  });

  test('the folders created for a store are synced, so that a power failure does not remove them', () => {
    const { synced } = onDisk().run(`
      import { openEmbedded } from '${ENGINE}';
      const store = await openEmbedded({ folder: 'one/two/store' });
      await store.close();
      console.log('null');
    `);
    for (const path of ['', '/one', '/one/two', '/one/two/store']) {
      assert.ok(synced.includes(folder + path), `${folder + path} among ${synced.join(', ')}`);
    }
  });
});

/**
 * A transaction whose commit of the primary fails: the answer it receives, and its actual outcome.
 */
function transactionProgram(kind: string, where: string): string {
  return `
    import { openEmbedded, openPercolator } from '${ENGINE}';
    import { failNext } from '${FAULT}';
    const unhandled = [];
    process.on('unhandledRejection', (error) => unhandled.push(String(error)));
    const embedded = await openEmbedded({ folder: '${where}' });
    let isArmed = false;
    const store = new Proxy(embedded, {
      get: (target, name) => {
        const value = target[name];
        if (typeof value !== 'function') return value;
        if (name !== 'checkAndMutateRow') return value.bind(target);
        return (conditional) => {
          const commits = conditional.ifFound?.some(({ kind, qualifier }) => kind === 'set' && qualifier.endsWith(':write'));
          if (isArmed && commits) {
            isArmed = false;
            failNext('${kind}');
          }
          return target.checkAndMutateRow(conditional);
        };
      },
    });
    const x = { table: 't', row: 'x', column: 'c' };
    const percolator = await openPercolator({ store });
    await percolator.createTable('t');
    await percolator.transact(async (transaction) => transaction.set({ ...x, row: 'warm' }, '1'));
    isArmed = true;
    let heard = 'committed';
    let name;
    try {
      await percolator.transact(async (transaction) => transaction.set(x, '1'));
    } catch (error) {
      heard = error.code ?? String(error);
      name = error.transaction;
    }
    await percolator.settled();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await embedded.close();
    const again = await openPercolator({ folder: '${where}' });
    const outcome = name === undefined ? 'committed' : await again.outcomeOf(name);
    const value = String((await (await again.snapshot()).get(x)) ?? 'nothing');
    await again.close();
    console.log(JSON.stringify({ heard, names: name !== undefined, outcome, value, unhandled }));
    process.exit();
  `;
}
