/** The claims of the clients: several of them together offer the load that was asked for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#engine';
import type { Crew } from '../harness/processes/index.ts';
import { SystemClients, type TradeLoad, type RunResult } from './clients.ts';
import { FakeBrokerage } from './driver/fake-brokerage.fixture.ts';
import { Recorder } from './driver/recorder.ts';
import type { LoadedDatabase } from './systems/database.ts';
import {
  type ClientAnswer,
  type ClientProcessOptions,
  encodeRecords,
  type ClientOrder,
} from './messages.ts';

const SHORT = { warmupSeconds: 0, seconds: 0.01 };

interface FakeMember {
  readonly options: ClientProcessOptions;
  readonly onMessage: (answer: ClientAnswer) => void;
}

/**
 * Three clients that answer at once; each has seen one Trade-Result more than the one before it.
 */
async function runThree(offered: TradeLoad): Promise<{
  readonly clients: SystemClients;
  readonly orders: readonly ClientOrder[];
  result: RunResult;
}> {
  const orders: ClientOrder[] = [];
  const brokerage = new FakeBrokerage({ clock: systemClock, responseMs: 0 });
  const records = encodeRecords(new Recorder(systemClock, brokerage).records);
  const start = async ({ options: { client }, onMessage }: FakeMember): Promise<unknown> => ({
    pid: client,
    send: (order: ClientOrder) => {
      orders.push(order);
      const measured = { records, backlogFrom: 1, backlogTo: 2, isOverrun: client === 2 };
      const ended = { firstFailure: client === 0 ? null : `of ${client}`, tradeResults: client };
      onMessage(
        order.kind === 'prepare'
          ? { kind: 'prepared' }
          : { kind: 'finished', ...measured, ...ended, store: null },
      );
    },
  });
  const crew = { start, during: (work: unknown) => work } as unknown as Crew;
  const clients = new SystemClients({ servers: {} } as LoadedDatabase, crew);
  await clients.start({ clients: 3 } as Omit<ClientProcessOptions, 'client'>);
  return { clients, orders, result: await clients.run(offered) };
}

function loadsOf(orders: readonly ClientOrder[]) {
  return orders.flatMap((order) => (order.kind === 'run' ? [order.load] : []));
}

test('the users of a closed loop are divided among the clients', async () => {
  const { orders } = await runThree({ tradesPerSecond: null, users: 4, ...SHORT });
  assert.deepEqual(loadsOf(orders), [
    { kind: 'unpaced', users: 1 },
    { kind: 'unpaced', users: 1 },
    { kind: 'unpaced', users: 2 },
  ]);
});

test('the transactions of an open loop are divided, and the clients take turns', async () => {
  const { orders } = await runThree({ tradesPerSecond: 30, users: 0, ...SHORT });
  // Customers issue 8.9 transactions for each Trade-Result (driver/deck.ts).
  assert.deepEqual(loadsOf(orders), [
    { kind: 'paced', perSecond: 89, phase: 0 },
    { kind: 'paced', perSecond: 89, phase: 1 / 3 },
    { kind: 'paced', perSecond: 89, phase: 2 / 3 },
  ]);
});

test('one client collects what earlier runs have left, and no client does before a run', async () => {
  const { clients, orders } = await runThree({ tradesPerSecond: 30, users: 0, ...SHORT });
  const before = orders.length;
  await clients.collect();
  const collects = (some: readonly ClientOrder[]): readonly boolean[] =>
    some.flatMap((order) => (order.kind === 'prepare' ? [order.collects] : []));
  assert.deepEqual(collects(orders.slice(0, before)), [false, false, false]);
  assert.deepEqual(collects(orders.slice(before)), [true, false, false]);
});

test('one client cleans up, backlogs and Trade-Results add up, and a failure or overrun of one counts', async () => {
  const { clients, orders, result } = await runThree({ tradesPerSecond: 30, users: 0, ...SHORT });
  assert.deepEqual(
    orders.flatMap((order) => (order.kind === 'prepare' ? [order.cleansUp] : [])),
    [true, false, false],
  );
  assert.deepEqual([result.backlogFrom, result.backlogTo, result.isOverrun], [3, 6, true]);
  assert.deepEqual([clients.tradeResults, clients.firstFailure], [3, 'of 1']);
});
