/**
 * One client process of bench:oracle: callers that ask for a timestamp, await it, and ask again.
 *
 * Every caller has its own promise for each timestamp, as transactions have. Reading the clock
 * before and after each timestamp would cost a third of the measured time, so only one caller in 64
 * measures its latency. It does not matter which one, because all callers of a batch are answered
 * in one turn. Every caller checks that its timestamps increase.
 */
import { argv } from 'node:process';
import { getOneMessage, sendMessage } from 'execa';
import { connectOracle, type TimestampOracle } from '#engine';
import type { ClientOptions, ClientReady, ClientResult } from './messages.ts';

const CALLERS_PER_CLOCK = 64;

/** The state shared by the callers of this process. */
interface CallersState {
  timestamps: number;
  smallest: number;
  largest: number;
  isOver: boolean;
  readonly latencies: Map<number, number>;
}

// A ctrl-C at a terminal reaches this process, too; only the parent handles it, and ends this one.
process.on('SIGINT', () => {});
const options = JSON.parse(argv[2] ?? '') as ClientOptions;
const { address, warmUpSeconds, seconds } = options;
const oracle = connectOracle({ addresses: [address] });
await oracle.next();
await sendMessage({ kind: 'connected' } satisfies ClientReady);
await getOneMessage();
await measure(oracle, options.callers, warmUpSeconds);
await sendMessage(await measure(oracle, options.callers, seconds));
await oracle.close();
process.disconnect();

async function measure(
  asked: TimestampOracle,
  callers: number,
  forSeconds: number,
): Promise<ClientResult> {
  const shared: CallersState = {
    timestamps: 0,
    smallest: Infinity,
    largest: 0,
    isOver: false,
    latencies: new Map(),
  };
  const startedMs = performance.now();
  const startedCpu = process.cpuUsage();
  setTimeout(() => {
    shared.isOver = true;
  }, forSeconds * 1_000);
  await Promise.all(
    Array.from({ length: callers }, (_, i) =>
      i % CALLERS_PER_CLOCK === 0 ? callWithClock(asked, shared) : call(asked, shared),
    ),
  );
  const { user, system } = process.cpuUsage(startedCpu);
  return {
    kind: 'measured',
    timestamps: shared.timestamps,
    smallest: shared.smallest,
    largest: shared.largest,
    wallMs: performance.now() - startedMs,
    cpuMs: (user + system) / 1_000,
    latencies: [...shared.latencies],
  };
}

async function call(asked: TimestampOracle, shared: CallersState): Promise<void> {
  const first = await asked.next();
  let last = first;
  shared.timestamps++;
  while (!shared.isOver) {
    last = later(await asked.next(), last);
    shared.timestamps++;
  }
  note(shared, first, last);
}

async function callWithClock(asked: TimestampOracle, shared: CallersState): Promise<void> {
  const { latencies } = shared;
  const first = await asked.next();
  let last = first;
  shared.timestamps++;
  while (!shared.isOver) {
    const startedMs = performance.now();
    const timestamp = await asked.next();
    const microseconds = Math.round((performance.now() - startedMs) * 1_000);
    latencies.set(microseconds, (latencies.get(microseconds) ?? 0) + 1);
    last = later(timestamp, last);
    shared.timestamps++;
  }
  note(shared, first, last);
}

function later(timestamp: number, last: number): number {
  if (timestamp <= last) throw new Error(`the oracle went back from ${last} to ${timestamp}`);
  return timestamp;
}

function note(shared: CallersState, first: number, last: number): void {
  shared.smallest = Math.min(shared.smallest, first);
  shared.largest = Math.max(shared.largest, last);
}
