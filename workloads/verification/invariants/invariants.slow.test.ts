/**
 * Each workload keeps its invariant on the engine, and finds one wrong value that was planted by
 * hand. Four of them also convict clients that read in one transaction and write in another, as an
 * engine without snapshots and conflicts would execute them. The tests after these are about
 * recordings.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type CellAddress,
  createRandom,
  openPercolator,
  type Percolator,
  type Transaction,
  type Worker,
} from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import { judgeSnapshotIsolation, readStoredHistory } from '../judges/index.ts';
import {
  type WorkloadClient,
  type RecordedTransaction,
  recordingClient,
  recordingCommits,
  type Recorder,
  recordingObservers,
  type Work,
  type Workload,
  WORKLOADS,
} from './index.ts';

const CLIENTS = 6;
const STEPS = 40;

for (const workload of WORKLOADS) {
  describe(workload.name, () => {
    test('keeps its invariant, in every snapshot and at rest', async () => {
      await using run = await open(workload);
      const { percolator, client } = run;
      run.observe();
      const looking = Promise.all([stepAll(workload, client), watchOften(workload, percolator)]);
      const [, watched] = await looking;
      assert.deepEqual(watched, []);
      await run.rest();
      assert.deepEqual(await lookAt(percolator, workload), { watch: [], check: [] });
      assert.deepEqual(judgeSnapshotIsolation(await run.history()), []);
    });
  });
}

describe('a wrong value', () => {
  const cases: readonly (readonly [string, string, CellAddress, string | undefined, RegExp])[] = [
    ['money made', 'bank', at('bank', 'account 3', 'balance'), '999', /hold 11\d\d together/],
    ['money lost', 'bank', at('bank', 'account 3', 'balance'), undefined, /not 160/],
    ['a negative balance', 'bank', at('bank', 'account 3', 'balance'), '-4', /account 3 holds -4/],
    ['a ring cut short', 'ring', at('ring', 'node 5', 'next'), '0', /6 of 24 nodes/],
    ['a node reached twice', 'ring', at('ring', 'node 5', 'next'), '3', /back to node 3/],
    ['a node that leads nowhere', 'ring', at('ring', 'node 5', 'next'), undefined, /node 5 has no/],
    [
      'an overdraft',
      'overdraft',
      at('overdraft', 'person 2 left', 'balance'),
      '-7',
      /person 2 has -7 and 6/,
    ],
    [
      'a number twice',
      'list-append',
      at('lists', '1-1', 'list'),
      '4 5 4',
      /list 1-1 holds 4 twice/,
    ],
    ['a piece twice', 'pieces', at('board', 'a\0a', 'a/a'), '3', /piece 3 is on 2 squares: \["a"/],
    ['a piece lost', 'pieces', at('board', 'a', 'a\0a'), undefined, /piece 1 is on 0 squares/],
    ['a total that is ahead', 'pipeline', at('sums', 'all', 'total'), '1', /a total of 1/],
    ['a copy that is ahead', 'pipeline', at('sums', 'bucket 0', 'copied'), '1', /1 copied, but 0/],
    [
      'a document without a title',
      'pipeline',
      at('documents', 's 1', 'body'),
      '2',
      /s 1: it has no title/,
    ],
    [
      'an unseen document',
      'pipeline',
      at('documents', 's 1', 'body'),
      '2',
      /bucket 2: 1 documents/,
    ],
    ['an unseen shelf', 'pipeline', at('documents', 's 1', 'body'), '2', /s: 1 documents, 0/],
    ['a title not copied', 'pipeline', at('documents', 's 1', 'title'), 'x', /s 1: its title is x/],
    ['a second count', 'pipeline', at('counts', 'bucket 6', 'documents'), '1', /0 documents, 1/],
  ];
  for (const [what, name, cell, value, sentence] of cases) {
    test(`is found by ${name}: ${what}`, async () => {
      const workload = WORKLOADS.find((one) => one.name === name);
      assert.ok(workload !== undefined);
      await using run = await open(workload);
      await run.percolator.transact(async (transaction) => {
        if (value === undefined) transaction.delete(cell);
        else transaction.set(cell, value);
      });
      const { check } = await lookAt(run.percolator, workload);
      assert.match(check.join('\n'), sentence);
    });
  }
});

describe('careless clients', () => {
  for (const name of ['bank', 'ring', 'overdraft', 'pieces']) {
    test(`that read in one transaction and write in another break ${name}, and the checks notice`, async () => {
      const workload = WORKLOADS.find((one) => one.name === name);
      assert.ok(workload !== undefined);
      await using run = await open(workload);
      await stepAll(workload, careless(run.percolator, run.client));
      const { check } = await lookAt(run.percolator, workload);
      assert.notDeepEqual(check, []);
    });
  }

  test('that do not lock the cells they only read break overdraft, and not bank', async () => {
    const workloads = WORKLOADS.filter(({ name }) => ['bank', 'overdraft'].includes(name));
    assert.equal(workloads.length, 2);
    for (const workload of workloads) {
      await using run = await open(workload);
      await stepAll(workload, {
        ...run.client,
        attempt: (body) => run.client.attempt((work) => body(without(work, 'lock'))),
      });
      const { check } = await lookAt(run.percolator, workload);
      assert.equal(check.length > 0, workload.name === 'overdraft');
    }
  });
});

describe('a recording', () => {
  test('has the committed transactions of the storage, and what each read and wrote', async () => {
    const bank = WORKLOADS.find(({ name }) => name === 'bank');
    assert.ok(bank !== undefined);
    await using run = await open(bank);
    await stepAll(bank, run.client);
    const { transactions, records } = await run.history();
    const committed = transactions.filter(({ commitTimestamp }) => commitTimestamp !== undefined);
    assert.ok(committed.length > STEPS);
    assert.deepEqual(
      new Set(records.map(({ commitTimestamp }) => commitTimestamp)),
      new Set(committed.map(({ commitTimestamp }) => commitTimestamp)),
    );
    assert.ok(transactions.some(({ outcome }) => outcome === 'failed'));
    assert.ok(transactions.every(({ reads, writes }) => reads.length + writes.length > 1));
  });

  test('leaves the outcome unknown until the client hears it', async () => {
    const bank = WORKLOADS.find(({ name }) => name === 'bank');
    assert.ok(bank !== undefined);
    await using run = await open(bank);
    const seen: string[] = [];
    const recorder: Recorder = {
      ...run.recorder,
      sink: {
        began: ({ outcome, writes }) => seen.push(`${outcome} ${writes.length}`),
        ended: ({ outcome }) => seen.push(outcome),
        violation: ({ message }) => seen.push(message),
      },
    };
    await recordingClient(run.percolator, 'bank', recorder).attempt(async (work) => {
      work.set(at('bank', 'account 1', 'balance'), '1');
      assert.deepEqual(seen, []);
    });
    assert.deepEqual(seen, ['unknown 1', 'committed']);
  });
});

test('a recording convicts a transaction in which two reads of a cell differ', async () => {
  const values = ['1', '1', '2'];
  const transaction = {
    startTimestamp: 5,
    getMany: async () => [Buffer.from(values.shift() ?? '')],
    commit: async () => 5,
  } as unknown as Transaction;
  const found: string[] = [];
  const sink = {
    began: () => {},
    ended: () => {},
    violation: ({ claim }: { claim: string }) => found.push(claim),
  };
  const percolator = { begin: async () => transaction } as unknown as Percolator;
  const client = recordingClient(percolator, 'bank', { sink, process: '1.1', nowMs: () => 0 });
  await client.attempt(async (work) => {
    for (let i = 0; i < 3; i++) await work.get(at('bank', 'account 1', 'balance'));
  });
  assert.deepEqual(found, ['transactions: two reads of a cell differ']);
});

describe('a recording of a transaction that reads its own writes', () => {
  const cell = at('bank', 'account 1', 'balance');
  const cases: readonly (readonly [string, (work: Work) => Promise<void>])[] = [
    ['one by one', async (work) => void (await work.get(cell))],
    ['in a scan', async (work) => scanAll(work)],
  ];
  for (const [how, look] of cases) {
    test(`${how}: finds nothing wrong, and keeps the transaction's write out of the snapshot's reads`, async () => {
      const { found, transaction } = await recordOwnWrite(look);
      assert.deepEqual(found, []);
      assert.equal(
        transaction?.reads.some((read) => read.cell === 'bank/account 1:balance'),
        false,
      );
    });

    test(`${how}: convicts a transaction that does not find its own write`, async () => {
      const { found } = await recordOwnWrite(look, (transaction) => without(transaction, 'set'));
      assert.match(found.join(), /^the transaction of \d+ wrote 7 to bank\/account 1:balance and/);
    });
  }

  async function recordOwnWrite(
    look: (work: Work) => Promise<void>,
    broken: (transaction: Transaction) => Transaction = (transaction) => transaction,
  ): Promise<{ readonly found: readonly string[]; readonly transaction?: RecordedTransaction }> {
    const bank = WORKLOADS.find(({ name }) => name === 'bank');
    assert.ok(bank !== undefined);
    await using run = await open(bank);
    const found: string[] = [];
    let transaction: RecordedTransaction | undefined;
    const sink = {
      began: (one: RecordedTransaction) => (transaction = one),
      ended: () => {},
      violation: ({ message }: { message: string }) => found.push(message),
    };
    const percolator = { begin: async () => broken(await run.percolator.begin()) } as Percolator;
    const client = recordingClient(percolator, 'bank', { ...run.recorder, sink });
    await client.attempt(async (work) => {
      work.set(cell, '7');
      await look(work);
    });
    return { found, ...(transaction && { transaction }) };
  }
});

interface InvariantRun extends AsyncDisposable {
  readonly percolator: Percolator;
  readonly client: WorkloadClient;
  readonly recorder: Recorder;
  /** Starts a worker with the observers. */
  observe(): void;
  /** Resolves when the observers have nothing left to do. */
  rest(): Promise<void>;
  history(): Promise<Parameters<typeof judgeSnapshotIsolation>[0]>;
}

async function open(workload: Workload): Promise<InvariantRun> {
  const store = createMemoryBigtable();
  const percolator = await openPercolator({ store });
  const transactions = new Map<number, RecordedTransaction>();
  const recorder: Recorder = {
    process: '1.1',
    nowMs: () => performance.now(),
    sink: {
      began: (one) => void transactions.set(one.startTimestamp, one),
      ended: (ending) => {
        const began = transactions.get(ending.startTimestamp);
        assert.ok(began !== undefined);
        transactions.set(ending.startTimestamp, { ...began, ...ending });
      },
      violation: ({ claim, message }) => assert.fail(`${claim}: ${message}`),
    },
  };
  const client = recordingClient(percolator, workload.name, recorder);
  for (const [table, { observedColumns, sharedColumns }] of Object.entries(workload.tables)) {
    await percolator.createTable(table, { observedColumns, sharedColumns });
  }
  await client.attempt((work) => workload.setup(work));
  let worker: Worker | undefined;
  return {
    percolator,
    client,
    recorder,
    observe: () => {
      const observers = recordingObservers(workload, recorder);
      const onCommitted = recordingCommits(recorder);
      if (observers.length > 0) worker = percolator.startWorker(observers, { onCommitted });
    },
    rest: async () => {
      await worker?.idle();
    },
    history: async () => {
      await percolator.settled();
      const stored = await readStoredHistory(store, Object.keys(workload.tables));
      return { ...stored, transactions: [...transactions.values()] };
    },
    [Symbol.asyncDispose]: async () => {
      await worker?.stop();
      await percolator.close();
    },
  };
}

async function stepAll(workload: Workload, client: WorkloadClient): Promise<void> {
  const random = createRandom(1);
  const clients = Array.from({ length: CLIENTS }, async (_, i) => {
    const own = random.fork(`client ${i}`);
    for (let step = 0; step < STEPS; step++) await workload.step(client, own);
  });
  await Promise.all(clients);
}

async function watchOften(workload: Workload, percolator: Percolator): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (let i = 0; i < STEPS; i++) wrong.push(...(await lookAt(percolator, workload)).watch);
  return wrong;
}

async function lookAt(
  percolator: Percolator,
  workload: Workload,
): Promise<{ readonly watch: readonly string[]; readonly check: readonly string[] }> {
  await using snapshot = await percolator.snapshot();
  return { watch: await workload.watch(snapshot), check: await workload.check(snapshot) };
}

/** Reads as it should, but writes in another transaction, which has read nothing. */
function careless(percolator: Percolator, client: WorkloadClient): WorkloadClient {
  return {
    ...client,
    attempt: async (body) => {
      const reading = await percolator.begin();
      const writes: ((transaction: Transaction) => void)[] = [];
      await body({
        startTimestamp: reading.startTimestamp,
        get: (cell) => reading.get(cell),
        getMany: (cells) => reading.getMany(cells),
        scan: (range) => reading.scan(range),
        set: (cell, value) => void writes.push((writing) => writing.set(cell, value)),
        delete: (cell) => void writes.push((writing) => writing.delete(cell)),
        lock: async () => {},
        notifyWeakly: () => {},
      });
      await percolator.transact(async (writing) => {
        for (const write of writes) write(writing);
      });
    },
  };
}

async function scanAll(work: Work): Promise<void> {
  for await (const _ of work.scan({ table: 'bank', columns: ['balance'] })); // Only reads.
}

function without<T extends object>(whole: T, method: keyof T): T {
  return new Proxy(whole, {
    get: (target, key) => {
      if (key === method) return async () => {};
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function at(table: string, row: string, column: string): CellAddress {
  return { table, row, column };
}
