/**
 * What the sightings of a run say about the time from crawl to search, and about the age of what
 * is found.
 */
import { createLatencyHistogram, type Histogram } from '#results';
import {
  dueUs,
  endUs,
  measuredFromUs,
  type Schedule,
  scheduledDocuments,
} from '../../harness/load/schedule.ts';
import type { BenchCrawl } from './crawl.ts';
import type { Sighting } from './sightings.ts';

export interface AgePoint {
  /** Since the measurement began. */
  readonly seconds: number;
  readonly meanAgeSeconds: number;
}

export interface Freshness {
  /** Latencies of the recrawls of the measured time, from when each was due; in microseconds. */
  readonly latencies: Histogram;
  /** Recrawls of the measured time that could never be found. */
  readonly lost: number;
  /** The mean over all recrawled pages, at each moment at which a recrawl of each can be found. */
  readonly ages: readonly AgePoint[];
}

export interface Observed {
  readonly crawl: BenchCrawl;
  readonly schedule: Schedule;
  readonly startUs: number;
  readonly sightings: readonly Sighting[];
}

/**
 * At how many moments of the measured time ages are taken. Recrawls are due at even intervals, and
 * the age climbs until the next one is found. If this number divided that of the recrawls, each
 * moment would be one at which a recrawl is due; a prime number spreads them over the intervals.
 */
export const AGES = 127;

export function freshnessOf({ crawl, schedule, startUs, sightings }: Observed): Freshness {
  const arrivals = Array.from({ length: scheduledDocuments(schedule) }, (_, n) => {
    const { url } = crawl.recrawl(n);
    return { url, edition: crawl.editionAt(n), dueUs: dueUs(schedule, n) };
  });
  const byUrl = Map.groupBy(sightings, ({ url }) => url);
  const latencies = createLatencyHistogram();
  let lost = 0;
  for (const { url, edition, dueUs: due } of arrivals.slice(schedule.warmupDocuments)) {
    const seen = byUrl.get(url)?.find((sighting) => sighting.edition >= edition);
    if (seen === undefined) lost++;
    else latencies.recordValue(Math.max(1, Math.round(seen.atUs - startUs - due)));
  }
  const dueOf = new Map(arrivals.map(({ url, edition, dueUs: due }) => [`${edition} ${url}`, due]));
  const [from, to] = [measuredFromUs(schedule), endUs(schedule)];
  const ages = Array.from({ length: AGES }, (_, i) => from + ((to - from) * (i + 1)) / AGES);
  return {
    latencies,
    lost,
    ages: ages.flatMap((atUs) => {
      const dueAt = (edition: number, url: string): number | undefined =>
        dueOf.get(`${edition} ${url}`);
      const found = agesAt(byUrl, dueAt, { startUs, atUs });
      if (found.length < crawl.recrawled) return [];
      const meanAgeSeconds = found.reduce((sum, age) => sum + age, 0) / found.length;
      return [{ seconds: (atUs - from) / 1e6, meanAgeSeconds }];
    }),
  };
}

/** The ages of the pages of which a recrawl can be found, in seconds; others have no known age. */
function agesAt(
  byUrl: ReadonlyMap<string, readonly Sighting[]>,
  dueAt: (edition: number, url: string) => number | undefined,
  { startUs, atUs }: { readonly startUs: number; readonly atUs: number },
): readonly number[] {
  return [...byUrl].flatMap(([url, seen]) => {
    const shown = seen.findLast((sighting) => sighting.atUs - startUs <= atUs);
    const due = shown && dueAt(shown.edition, url);
    return due === undefined ? [] : [(atUs - due) / 1e6];
  });
}
