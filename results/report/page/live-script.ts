/**
 * The part of the page's program that follows a run (`--watch`): the page, or a second of it, as
 * server-sent events. It obeys the two rules of html-page.ts.
 *
 *     page     the content of `main` and all charts: something other than a further second is new
 *     sample   a further second of the charts
 *     status   the line at the top
 *     end      the page is the report of the run
 */
import type { Chart } from '../charts/chart.ts';
import { timelineMark } from '../charts/timeline-charts.ts';

/** The content of a page, to replace the one before it. */
export interface PageContent {
  readonly main: string;
  readonly charts: readonly Chart[];
}

/** One second of the charts. */
export interface ChartSample {
  readonly seconds: number;
  readonly values: readonly ChartSampleValue[];
}

export interface ChartSampleValue {
  readonly chart: string;
  readonly series: string;
  readonly value: number | null;
}

interface LiveEvents {
  addEventListener(event: string, listener: (event: { readonly data: string }) => void): void;
  close(): void;
}
declare const EventSource: new (address: string) => LiveEvents;

/** What the program of the page does with the events. */
export interface FollowingPage {
  readonly replace: (content: PageContent) => void;
  readonly redraw: (names: ReadonlySet<string>) => void;
  readonly charts: () => readonly Chart[];
  readonly tell: (line: string) => void;
}

export function followRun({ replace, redraw, charts, tell }: FollowingPage): void {
  const source = new EventSource('events');
  source.addEventListener('page', ({ data }) => replace(JSON.parse(data) as PageContent));
  source.addEventListener('sample', ({ data }) => {
    redraw(appendSample(charts(), JSON.parse(data) as ChartSample));
  });
  source.addEventListener('status', ({ data }) => tell(String(JSON.parse(data))));
  source.addEventListener('end', ({ data }) => {
    source.close();
    tell(String(JSON.parse(data)));
  });
  source.addEventListener('error', () => {
    tell('The run cannot be reached; this is what was seen until then.');
  });
}

/** Adds a second to the charts, unless they have it, and returns the names of those it is in. */
export function appendSample(charts: readonly Chart[], sample: ChartSample): ReadonlySet<string> {
  const changed = new Set<string>();
  for (const { chart: name, series: named, value } of sample.values) {
    const series = charts
      .find((chart) => chart.name === name)
      ?.series.find((one) => one.name === named);
    const marks = series?.marks as Chart['series'][number]['marks'][number][] | undefined;
    if (marks === undefined || (marks.at(-1)?.x ?? -1) >= sample.seconds) continue;
    marks.push(timelineMark({ seconds: sample.seconds, value }));
    changed.add(name);
  }
  return changed;
}
