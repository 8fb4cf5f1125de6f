/**
 * Runs of the simulator as data for the model: the input of Traces.tla.
 *
 * The model's numbers are small: ranks replace timestamps, which keeps every comparison. Reads that
 * the run answered before anything was deleted are left out, because nothing can be wrong with
 * them.
 */
import {
  type SimulationPlan,
  planOf,
  simulate,
  type WatchedEvent,
  type WatchedLease,
} from '../simulation/index.ts';
import { MESSAGE_LIFETIME_MS } from '../simulation/world.ts';

/** A run, ready to be checked. */
export interface Trace {
  readonly seed: number;
  /** As records of TLA+. */
  readonly events: readonly string[];
  /** How often a collector began to delete. */
  readonly deletions: number;
  /** Reads that were answered from the first deletion on. */
  readonly reads: number;
  /** The module TraceData. */
  readonly data: string;
  readonly constants: {
    readonly Processes: readonly string[];
    readonly Collectors: readonly string[];
    readonly LastTimestamp: number;
    readonly Ttl: number;
  };
}

interface Timed {
  readonly atMs: number;
  readonly event: WatchedEvent;
}

/**
 * Times are shortened by this factor: a collector's clock is fast by at most one percent, and
 * another percent is for rounding.
 */
const SHORTEST = 0.98;

/** The first `count` runs with a collector, from `seed` on. */
export async function* recordTraces(seed: number, count: number): AsyncGenerator<Trace> {
  for (let next = seed, found = 0; found < count; next++) {
    const plan = planOf(next);
    if (!plan.knobs.collector) continue;
    found++;
    yield traceOf(plan, await record(plan));
  }
}

async function record(plan: SimulationPlan): Promise<readonly Timed[]> {
  const events: Timed[] = [];
  await simulate(plan, {
    watch: (atMs, event) => {
      events.push({ atMs, event });
    },
  });
  const first = events.findIndex(({ event }) => event.kind === 'collecting');
  return events.filter(({ event }, i) => !isRead(event) || (first >= 0 && i > first));
}

function isRead({ kind }: WatchedEvent): boolean {
  return kind === 'read served' || kind === 'read answered';
}

function traceOf(plan: SimulationPlan, events: readonly Timed[]): Trace {
  const numbers = events.flatMap(({ event }) => timestampsOf(event));
  const sorted = [...new Set(numbers)].toSorted((a, b) => a - b);
  const ranks = new Map(sorted.map((timestamp, i) => [timestamp, i + 1]));
  ranks.set(0, 0); // Rank 0 is before everything.
  const lines = events.map((timed) => recordText(timed, (timestamp) => ranks.get(timestamp) ?? 0));
  const count = (isCounted: (event: WatchedEvent) => boolean): number =>
    events.filter(({ event }) => isCounted(event)).length;
  return {
    seed: plan.seed,
    events: lines,
    deletions: count(({ kind }) => kind === 'collecting'),
    reads: count(({ kind }) => kind === 'read answered'),
    data: [
      '---- MODULE TraceData ----',
      `Lifetime == ${Math.floor(MESSAGE_LIFETIME_MS * SHORTEST)}`,
      `Trace == <<\n${lines.join(',\n')}\n>>`,
      '====',
      '',
    ].join('\n'),
    constants: {
      Processes: names(events, (event) => leasesIn(event).map(({ process }) => process)),
      Collectors: names(events, (event) => ('collector' in event ? [event.collector] : [])),
      LastTimestamp: sorted.length + 1,
      Ttl: Math.floor(plan.knobs.leaseTimeToLiveMs * SHORTEST),
    },
  };
}

function names(
  events: readonly Timed[],
  namesIn: (event: WatchedEvent) => readonly string[],
): readonly string[] {
  return [...new Set(events.flatMap(({ event }) => namesIn(event)))];
}

function leasesIn(event: WatchedEvent): readonly WatchedLease[] {
  if ('leases' in event) return event.leases;
  if ('lease' in event) return [event.lease];
  return event.kind === 'lease erased' ? [{ ...event, bound: 0 }] : [];
}

function timestampsOf(event: WatchedEvent): readonly number[] {
  if ('horizon' in event) return [event.horizon];
  if ('deletionHorizon' in event) return [event.deletionHorizon];
  if ('snapshot' in event) return [event.snapshot];
  return leasesIn(event).map(({ bound }) => bound);
}

/** An event as a record of TLA+. */
function recordText({ atMs, event }: Timed, rank: (timestamp: number) => number): string {
  const fields: Record<string, string | number> = {
    kind: quoted(event.kind),
    at: Math.floor(atMs),
  };
  if ('leases' in event) fields['leases'] = `<<${event.leases.map(text).join(', ')}>>`;
  if ('collector' in event) fields['collector'] = quoted(event.collector);
  if ('process' in event) fields['process'] = quoted(event.process);
  if ('counter' in event) fields['counter'] = event.counter;
  if ('horizon' in event) fields['horizon'] = rank(event.horizon);
  if ('deletionHorizon' in event) fields['deletionHorizon'] = rank(event.deletionHorizon);
  if ('snapshot' in event) fields['snapshot'] = rank(event.snapshot);
  if ('lease' in event) Object.assign(fields, leaseFields(event.lease));
  return recordOf(fields);

  function text(lease: WatchedLease): string {
    return recordOf(leaseFields(lease));
  }

  function leaseFields({ process, counter, bound }: WatchedLease): Record<string, string | number> {
    return { process: quoted(process), counter, bound: rank(bound) };
  }
}

function recordOf(fields: Readonly<Record<string, string | number>>): string {
  return `[${Object.entries(fields)
    .map(([name, value]) => `${name} |-> ${value}`)
    .join(', ')}]`;
}

function quoted(name: string): string {
  return `"${name.replaceAll(/["\\]/g, '')}"`;
}
