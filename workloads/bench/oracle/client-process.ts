/**
 * One client process of bench:oracle: callers that ask for a timestamp, await it, and ask again.
 *
 * Every caller has its own promise for each timestamp, as transactions have. Reading the clock
 * before and after each timestamp would cost a third of the measured time, so only one caller in 64
 * measures its latency. It does not matter which one, because all callers of a batch are answered
 * in one turn. Every caller checks that its timestamps increase.
 */
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { connectOracle, type TimestampOracle } from '#engine';
import { createLatencyHistogram, type Histogram } from '#results';
import { serve, tellParent } from '../../harness/processes/index.ts';
import type { CallersOptions, CallersResult } from './measure.ts';

const CALLERS_PER_CLOCK = 64;

/** The state shared by the callers of this process. */
interface CallersState {
  timestamps: number;
  smallest: number;
  largest: number;
  isOver: boolean;
  readonly latencies: Histogram;
}

await serve<'begin'>(async (options: CallersOptions) => {
  const oracle = connectOracle({ addresses: [options.address] });
  await oracle.next();
  const answer = async (): Promise<void> => {
    await measure(oracle, options.callers, options.warmUpSeconds);
    tellParent(await measure(oracle, options.callers, options.seconds));
  };
  return { onMessage: () => void answer(), stop: () => oracle.close() };
});

async function measure(
  asked: TimestampOracle,
  callers: number,
  forSeconds: number,
): Promise<CallersResult> {
  const shared: CallersState = {
    timestamps: 0,
    smallest: Infinity,
    largest: 0,
    isOver: false,
    latencies: createLatencyHistogram(),
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
    timestamps: shared.timestamps,
    smallest: shared.smallest,
    largest: shared.largest,
    wallMs: performance.now() - startedMs,
    cpuMs: (user + system) / 1_000,
    latencies: encodeIntoCompressedBase64(shared.latencies),
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
    latencies.recordValue(Math.round((performance.now() - startedMs) * 1_000));
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
