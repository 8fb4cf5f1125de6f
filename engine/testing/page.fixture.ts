/**
 * What core.test.ts runs in a browser: the conformance suite on the memory store, and a transfer
 * with an observer that counts it. The results are a property of the page.
 */
import { conformanceSuite } from '../bigtable/conformance.ts';
import { createMemoryBigtable, openDatabase, textOf } from '../core.ts';
import { runTests } from './page-tests.fixture.ts';

export interface PageResults {
  readonly passed: number;
  readonly failures: readonly string[];
  /** The balances after the transfer, and how many transfers the observer has counted. */
  readonly after: readonly string[];
}

const ACCOUNTS = 'accounts';

async function transfer(): Promise<readonly string[]> {
  await using store = createMemoryBigtable();
  await using percolator = await openDatabase({ store });
  await percolator.createTable(ACCOUNTS, { observedColumns: ['balance'] });
  const at = (row: string, column = 'balance') => ({ table: ACCOUNTS, row, column });
  const read = async (row: string, column?: string): Promise<string> => {
    await using snapshot = await percolator.snapshot();
    const value = await snapshot.get(at(row, column));
    return value === undefined ? 'nothing' : textOf(value);
  };
  const worker = percolator.startWorker([
    {
      name: 'count',
      table: ACCOUNTS,
      column: 'balance',
      run: async (transaction, { row }) => transaction.set(at(row, 'seen'), 'yes'),
    },
  ]);
  await percolator.transact(async (transaction) => {
    transaction.set(at('Bob'), '10');
    transaction.set(at('Joe'), '2');
  });
  await percolator.transact(async (transaction) => {
    const [bob, joe] = await transaction.getMany([at('Bob'), at('Joe')]);
    transaction.set(at('Bob'), String(Number(bob && textOf(bob)) - 7));
    transaction.set(at('Joe'), String(Number(joe && textOf(joe)) + 7));
  });
  while ((await read('Joe', 'seen')) === 'nothing' || (await read('Bob', 'seen')) === 'nothing') {
    await percolator.settled();
  }
  await worker.stop();
  // Awaited here: the database closes when the function returns.
  return await Promise.all([read('Bob'), read('Joe'), read('Bob', 'seen'), read('Joe', 'seen')]);
}

async function results(): Promise<PageResults> {
  conformanceSuite('the memory store', async () => createMemoryBigtable());
  return { ...(await runTests()), after: await transfer() };
}

Object.assign(globalThis, { results: results() });
