/** One point of bench:oracle: a number of client processes and callers, for a given time. */
import { execaNode } from 'execa';
import { isStated } from '#results';
import type { ClientOptions, ClientResult } from './messages.ts';

export interface Load {
  readonly clients: number;
  /** Callers of all clients together. */
  readonly callers: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/** The measurements of all clients of a point together. */
export interface Point {
  readonly load: Load;
  readonly timestamps: number;
  readonly perSecond: number;
  /** CPU time of the clients, per timestamp. */
  readonly clientCpuNs: number;
  /** Latencies that were measured. */
  readonly samples: number;
  /** Null if there are none. */
  readonly p50Ms: number | null;
  /** Null with too few. */
  readonly p99Ms: number | null;
  readonly p999Ms: number | null;
}

const CLIENT = new URL('client-process.ts', import.meta.url);

/**
 * @throws if a client ends early, or if the callers received more timestamps than the oracle
 * advanced by
 */
export async function measurePoint(
  address: string,
  load: Load,
  signal: AbortSignal,
): Promise<Point> {
  const clients = clientOptionsOf(address, load).map((options) => startClient(options, signal));
  // Awaited from the start: a client's failure that nothing awaits would end this process.
  const ended = Promise.allSettled(clients);
  try {
    await Promise.all(clients.map((client) => client.getOneMessage())); // Connected.
    const all = await Promise.all(clients.map(resultOf));
    await Promise.all(clients);
    return pointOf(load, all);
  } finally {
    for (const client of clients) client.kill(); // After a failure the others would measure on.
    await ended;
  }
}

async function resultOf(client: Client): Promise<ClientResult> {
  const [result] = await Promise.all([client.getOneMessage(), client.sendMessage('begin')]);
  return result as unknown as ClientResult;
}

/** The options of each client; together the clients have exactly the callers of the load. */
export function clientOptionsOf(
  address: string,
  { clients, callers, warmUpSeconds, seconds }: Load,
): readonly ClientOptions[] {
  const upTo = (client: number): number => Math.floor((client * callers) / clients);
  return Array.from({ length: clients }, (_, i) => ({
    address,
    callers: upTo(i + 1) - upTo(i),
    warmUpSeconds,
    seconds,
  }));
}

type Client = ReturnType<typeof startClient>;

function startClient(options: ClientOptions, signal: AbortSignal) {
  return execaNode(CLIENT, [JSON.stringify(options)], {
    ipc: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    cancelSignal: signal,
  });
}

export function pointOf(load: Load, all: readonly ClientResult[]): Point {
  const timestamps = sum(all.map((client) => client.timestamps));
  const between =
    Math.max(...all.map(({ largest }) => largest)) -
    Math.min(...all.map(({ smallest }) => smallest)) +
    1;
  // Each caller checked that its own timestamps increase. Two callers that received the same one
  // make the count too large, unless the oracle advanced past one that no caller received: one that
  // it skipped, or handed to a client that was still warming up.
  if (timestamps > between) {
    throw new Error(
      `callers received ${timestamps} timestamps, but the oracle advanced by ${between}: some were handed out twice`,
    );
  }
  const times = new Map<number, number>();
  for (const [microseconds, count] of all.flatMap(({ latencies }) => latencies)) {
    times.set(microseconds, (times.get(microseconds) ?? 0) + count);
  }
  const samples = sum([...times.values()]);
  const sorted = [...times].toSorted(([a], [b]) => a - b);
  return {
    load,
    timestamps,
    perSecond: sum(all.map((client) => (client.timestamps / client.wallMs) * 1_000)),
    clientCpuNs: (sum(all.map(({ cpuMs }) => cpuMs)) * 1e6) / timestamps,
    samples,
    p50Ms: percentileMs(sorted, 50),
    p99Ms: isStated(99, samples) ? percentileMs(sorted, 99) : null,
    p999Ms: isStated(99.9, samples) ? percentileMs(sorted, 99.9) : null,
  };
}

/** @param sorted microseconds with their counts, smallest first */
function percentileMs(
  sorted: readonly (readonly [number, number])[],
  percentile: number,
): number | null {
  let left = (percentile / 100) * sum(sorted.map(([, count]) => count));
  for (const [microseconds, count] of sorted) {
    left -= count;
    if (left <= 0) return microseconds / 1_000;
  }
  return null;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
