/**
 * Probes: how a script says what to show of it, second by second, without doing anything while
 * nothing is shown.
 *
 *     using _ = live.show([
 *       { panel: 'throughput', series: 'clustered', rate: () => clustered },
 *       { panel: 'waiting', series: 'documents', level: () => arrived - clustered },
 *       { panel: 'latency', series: 'clustering', times },
 *     ]);
 *
 * Each is asked once a second. Series of one name, of several processes say, are added up; the
 * times of one name become one distribution.
 */
import type { Percolator, Worker } from '#engine';
import { type LiveTimes, percentilesOf } from './live-times.ts';
import type { PanelName, Sample } from './timeline.ts';

export type Probe = {
  readonly panel: PanelName;
  readonly series: string;
} & (
  | {
      /** A count that only grows. Its growth is shown. */
      readonly rate: () => number;
    }
  | {
      /** Undefined: there is none now. */
      readonly level: () => number | undefined;
      readonly isTarget?: boolean;
    }
  | {
      /** The median and the 99th percentile of what was recorded since the last second. */
      readonly times: LiveTimes;
    }
);

/** What probes say of a second: of one process, or of all of them. */
export interface Reading {
  readonly samples: readonly Sample[];
  /** In microseconds, by the name of the series. */
  readonly timesUs: Readonly<Record<string, readonly number[]>>;
}

/** Reads probes second by second. */
export class ProbeReader {
  readonly #shown = new Set<readonly Probe[]>();
  readonly #counts = new Map<Probe, number>();
  /** How much counts had grown when they were shown no more. */
  readonly #grown = new Map<string, Sample>();

  /** Shows them until they are disposed of. */
  show(probes: readonly Probe[]): Disposable {
    this.#shown.add(probes);
    for (const probe of probes) if ('rate' in probe) this.#counts.set(probe, probe.rate());
    return {
      [Symbol.dispose]: () => {
        if (!this.#shown.delete(probes)) return;
        for (const probe of probes) this.#keepGrowth(probe);
      },
    };
  }

  /** @param seconds since the last reading */
  read(seconds: number): Reading {
    const probes = [...this.#shown].flat();
    const times = probes.flatMap((probe) =>
      'times' in probe ? [[probe.series, probe.times.take()] as const] : [],
    );
    const left = Array.from(this.#grown.values(), ({ panel, series, value }) => {
      return { panel, series, value: value / seconds };
    });
    this.#grown.clear();
    return {
      samples: [...left, ...probes.flatMap((probe) => this.#sampleOf(probe, seconds) ?? [])],
      timesUs: Object.fromEntries(times),
    };
  }

  #keepGrowth(probe: Probe): void {
    const before = this.#counts.get(probe);
    this.#counts.delete(probe);
    if (!('rate' in probe) || before === undefined) return;
    const { panel, series } = probe;
    const key = `${panel} ${series}`;
    const value = (this.#grown.get(key)?.value ?? 0) + Math.max(0, probe.rate() - before);
    if (value > 0) this.#grown.set(key, { panel, series, value });
  }

  #sampleOf(probe: Probe, seconds: number): Sample | undefined {
    const { panel, series } = probe;
    if ('level' in probe) {
      const value = probe.level();
      return value === undefined ? undefined : { panel, series, value, isTarget: probe.isTarget };
    }
    if (!('rate' in probe)) return undefined;
    const count = probe.rate();
    const before = this.#counts.get(probe) ?? count;
    this.#counts.set(probe, count);
    return { panel, series, value: Math.max(0, count - before) / seconds };
  }
}

/** The readings of several processes as one. */
export function joined(readings: readonly Reading[]): readonly Sample[] {
  const sums = new Map<string, Sample>();
  for (const sample of readings.flatMap(({ samples }) => samples)) {
    const key = `${sample.panel} ${sample.series}`;
    const before = sample.isTarget === true ? 0 : (sums.get(key)?.value ?? 0);
    sums.set(key, { ...sample, value: before + sample.value });
  }
  const times = new Map<string, number[]>();
  for (const [series, us] of readings.flatMap(({ timesUs }) => Object.entries(timesUs))) {
    times.set(series, [...(times.get(series) ?? []), ...us]);
  }
  return [...sums.values(), ...[...times].flatMap(([series, us]) => percentilesOf(series, us))];
}

/** What every database counts. */
export function databaseProbes({ counters }: Percolator): readonly Probe[] {
  return [
    { panel: 'throughput', series: 'commits', rate: () => counters.committed },
    { panel: 'conflicts', series: 'conflicts', rate: () => counters.conflicts },
    { panel: 'conflicts', series: 'rolled forward', rate: () => counters.rolledForward },
    { panel: 'conflicts', series: 'rolled back', rate: () => counters.rolledBack },
  ];
}

/** What every worker counts. */
export function workerProbes(workers: readonly Pick<Worker, 'counters'>[]): readonly Probe[] {
  const rate = (of: 'runs' | 'failures') => () =>
    workers.reduce((sum, { counters }) => sum + counters[of], 0);
  return [
    { panel: 'observers', series: 'committed', rate: rate('runs') },
    { panel: 'observers', series: 'failed', rate: rate('failures') },
  ];
}
