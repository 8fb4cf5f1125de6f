/**
 * When each recrawled edition of a page could be found, and what this says about the time from
 * crawl to search, and about the age of what is found.
 */
import { mean } from 'simple-statistics';
import { LiveTimes, type Probe } from '#harness';
import { createLatencyHistogram, type Histogram } from '#results';
import { whyNotKeptUp } from '../../harness/load/kept-up.ts';
import {
  dueUs,
  endUs,
  measuredFromUs,
  type Schedule,
  scheduledDocuments,
} from '../../harness/load/schedule.ts';
import type { ServedPage } from '../model/index.ts';
import { type BenchCrawl, editionOf } from './crawl.ts';

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
  /** Why the system did not keep up with the recrawls; null if it did. */
  readonly late: string | null;
  /** The mean over all recrawled pages, at each moment at which a recrawl of each can be found. */
  readonly ages: readonly AgePoint[];
}

export interface Observed {
  readonly crawl: BenchCrawl;
  readonly schedule: Schedule;
  readonly startUs: number;
  readonly sightings: readonly EditionSighting[];
  /** Recrawls that one run of a batch takes together. Default: 0. */
  readonly inFlight?: number;
}

/**
 * At how many moments of the measured time ages are taken. Recrawls are due at even intervals, and
 * the age climbs until the next one is found. If this number divided that of the recrawls, each
 * moment would be one at which a recrawl is due; a prime number spreads them over the intervals.
 */
export const AGES = 127;

export function freshnessOf(observed: Observed): Freshness {
  const { crawl, schedule, startUs, sightings } = observed;
  const arrivals = Array.from({ length: scheduledDocuments(schedule) }, (_, n) => {
    const { url } = crawl.recrawl(n);
    return { url, edition: crawl.editionAt(n), dueUs: dueUs(schedule, n) };
  });
  const byUrl = Map.groupBy(sightings, ({ url }) => url);
  const found = arrivals.map(({ url, edition, dueUs: due }) => {
    const seen = byUrl.get(url)?.find((sighting) => sighting.edition >= edition);
    return { dueUs: due, foundUs: seen === undefined ? Infinity : seen.atUs - startUs };
  });
  const latencies = createLatencyHistogram();
  const measured = found.slice(schedule.warmupDocuments);
  const seen = measured.filter(({ foundUs }) => foundUs < Infinity);
  for (const { dueUs: due, foundUs } of seen) {
    latencies.recordValue(Math.max(1, Math.round(foundUs - due)));
  }
  const dueOf = new Map(arrivals.map(({ url, edition, dueUs: due }) => [`${edition} ${url}`, due]));
  const [from, to] = [measuredFromUs(schedule), endUs(schedule)];
  const ages = Array.from({ length: AGES }, (_, i) => from + ((to - from) * (i + 1)) / AGES);
  return {
    latencies,
    lost: measured.length - seen.length,
    late: lateness(found, observed),
    ages: ages.flatMap((atUs) => {
      const dueAt = (edition: number, url: string): number | undefined =>
        dueOf.get(`${edition} ${url}`);
      const known = agesAt(byUrl, dueAt, { startUs, atUs });
      if (known.length < crawl.recrawled) return [];
      return [{ seconds: (atUs - from) / 1e6, meanAgeSeconds: mean(known) }];
    }),
  };
}

function lateness(
  recrawls: readonly { readonly dueUs: number; readonly foundUs: number }[],
  { schedule, inFlight = 0 }: Observed,
): string | null {
  const [from, to] = [measuredFromUs(schedule), endUs(schedule)];
  const waitingAt = (us: number): number =>
    recrawls.filter(({ dueUs: due, foundUs }) => due <= us && foundUs > us).length;
  const { documents: offered, perSecond } = schedule;
  return whyNotKeptUp({
    offered,
    completed: recrawls.filter(({ foundUs }) => foundUs > from && foundUs <= to).length,
    unit: 'recrawls',
    inFlight,
    backlog: {
      growth: waitingAt(to) - waitingAt(from) - inFlight,
      perSecond,
      seconds: (to - from) / 1e6,
    },
  });
}

/** The ages of the pages of which a recrawl can be found, in seconds; others have no known age. */
function agesAt(
  byUrl: ReadonlyMap<string, readonly EditionSighting[]>,
  dueAt: (edition: number, url: string) => number | undefined,
  { startUs, atUs }: { readonly startUs: number; readonly atUs: number },
): readonly number[] {
  return [...byUrl].flatMap(([url, seen]) => {
    const shown = seen.findLast((sighting) => sighting.atUs - startUs <= atUs);
    const due = shown && dueAt(shown.edition, url);
    return due === undefined ? [] : [(atUs - due) / 1e6];
  });
}

export interface EditionSighting {
  readonly url: string;
  readonly edition: number;
  /** By the clock that all processes of the machine share. */
  readonly atUs: number;
}

/**
 * An edition could be found once the serving index's call had resolved: under the page's own
 * address or as a duplicate of a result. So a result shows its edition for all of its addresses.
 */
export class Sightings {
  readonly all: EditionSighting[] = [];
  readonly #shown = new Map<string, number>();
  /** Of a run that is watched: recrawls that cannot be found yet, by address, and their times. */
  readonly #awaited = new Map<string, { readonly edition: number; readonly atUs: number }[]>();
  /** When the edition that can be found was crawled. */
  readonly #crawledUs = new Map<string, number>();
  readonly #times = new LiveTimes();
  #arrived = 0;
  #found = 0;

  /** In a run that is watched: the edition was crawled at `atUs`. */
  arrived(url: string, edition: number, atUs: number): void {
    this.#arrived++;
    this.#awaited.set(url, [...(this.#awaited.get(url) ?? []), { edition, atUs }]);
  }

  /** @param nowUs the clock by which recrawls arrive and pages can be found */
  probes(nowUs: () => number): readonly Probe[] {
    const age = (): number | undefined => {
      if (this.#crawledUs.size === 0) return undefined;
      return (nowUs() - mean([...this.#crawledUs.values()])) / 1e6;
    };
    return [
      { panel: 'throughput', series: 'crawled', rate: () => this.#arrived },
      { panel: 'throughput', series: 'searchable', rate: () => this.#found },
      {
        panel: 'waiting',
        series: 'crawled and not yet searchable',
        level: () => this.#arrived - this.#found,
      },
      { panel: 'latency', series: 'from crawl to search', times: this.#times },
      { panel: 'age', series: 'mean of the recrawled pages', level: age },
    ];
  }

  /** The page can be found from `atUs` on. */
  add({ url, duplicates, text }: ServedPage, atUs: number): void {
    const edition = editionOf(text);
    if (edition === undefined) return;
    for (const one of [url, ...duplicates]) {
      if ((this.#shown.get(one) ?? 0) >= edition) continue;
      this.#shown.set(one, edition);
      this.all.push({ url: one, edition, atUs });
      this.#noteFound(one, edition, atUs);
    }
  }

  #noteFound(url: string, edition: number, atUs: number): void {
    const awaited = this.#awaited.get(url) ?? [];
    const found = awaited.filter((one) => one.edition <= edition);
    for (const { atUs: crawledUs } of found) {
      this.#found++;
      this.#crawledUs.set(url, crawledUs);
      this.#times.record(Math.max(1, Math.round(atUs - crawledUs)));
    }
    if (found.length > 0) {
      this.#awaited.set(
        url,
        awaited.filter((one) => one.edition > edition),
      );
    }
  }
}
