/** Counts of several workers, engines or processes as one. */
import type { WorkerCounters } from '#engine';

/** The counts of no worker at all. */
export const NO_RUNS: WorkerCounters = { runs: 0, clean: 0, failures: 0, parked: 0, meetings: 0 };

/** Sums field by field. The list must not be empty. */
export function sumEach<T extends { readonly [K in keyof T]: number }>(all: readonly T[]): T {
  const sums = new Map<string, number>();
  for (const one of all) {
    for (const [name, number] of Object.entries<number>(one)) {
      sums.set(name, (sums.get(name) ?? 0) + number);
    }
  }
  return Object.fromEntries(sums) as unknown as T;
}
