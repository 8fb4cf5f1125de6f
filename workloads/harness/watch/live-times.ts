/** Latencies of the present second, for the page of a run. */
import type { Sample } from './timeline.ts';

/** More in a second than these are left to chance: every second one is forgotten, and so on. */
const TIMES_MAX = 4_096;

export class LiveTimes {
  #us: number[] = [];
  /** One of so many is kept. */
  #every = 1;
  #seen = 0;

  record(us: number): void {
    if (this.#seen++ % this.#every !== 0) return;
    if (this.#us.push(us) < TIMES_MAX) return;
    this.#us = this.#us.filter((_, i) => i % 2 === 0);
    this.#every *= 2;
  }

  /** Those since the last call, in no set order. */
  take(): readonly number[] {
    const taken = this.#us;
    this.#us = [];
    this.#every = 1;
    return taken;
  }
}

/** With fewer, the 99th percentile would be the slowest. */
const P99_MIN = 100;

export function percentilesOf(series: string, us: readonly number[]): readonly Sample[] {
  const sorted = us.toSorted((a, b) => a - b);
  const at = (share: number, words: string): Sample => ({
    panel: 'latency',
    series: `${series}, ${words}`,
    value: (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0) / 1000,
  });
  if (sorted.length === 0) return [];
  return sorted.length < P99_MIN
    ? [at(0.5, 'median'), at(1, 'slowest')]
    : [at(0.5, 'median'), at(0.99, '99th percentile')];
}
