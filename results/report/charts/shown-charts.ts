/**
 * The charts of findings as they are shown: those of the record, in today's form, and those that
 * are made of its tables. So an older record has the pictures of a new one.
 */
import type { Findings, ResultChart, ResultSpan, ResultTable } from '../run-record.ts';

export function shownCharts({
  charts,
  tables,
}: Pick<Findings, 'charts' | 'tables'>): readonly ResultChart[] {
  return [
    ...charts.map(withoutLetters),
    ...tables.flatMap((table) => COUNTED.get(table.name)?.(table) ?? []),
  ];
}

/*
 * Figure 10 once had letters on its axis, which its caption explained: "F: killed at 30 s, ...".
 */

const LETTER = /^[FDRSB]$/;
/** The axis of rates ends at this share of the rate that is offered, or the dip would be flat. */
const SHOWN_OF_RATE = 1.5;

function withoutLetters(chart: ResultChart): ResultChart {
  const letters = chart.x.ticks.filter(({ label }) => LETTER.test(label));
  if (letters.length === 0) return chart;
  const nameOf = (letter: string): string =>
    new RegExp(`\\b${letter}: (.*?) at \\d`).exec(chart.caption)?.[1] ?? letter;
  const named = letters.map(({ at, label }) => ({ at, label: nameOf(label) }));
  const arrived = chart.series.find(({ name }) => name === 'arrived')?.points ?? [];
  const rates = arrived.map(({ y }) => y).toSorted((a, b) => a - b);
  const median = rates[Math.floor(rates.length / 2)];
  return {
    ...chart,
    caption: chart.caption.replaceAll(/\b[FDRSB]: /g, ''),
    x: { ...chart.x, ticks: [] },
    y: median === undefined ? chart.y : { ...chart.y, max: SHOWN_OF_RATE * median },
    spans: spansBetween(named),
  };
}

/** Each span has the name of the event with which it begins. */
export function spansBetween(
  events: readonly { readonly at: number; readonly label: string }[],
): readonly ResultSpan[] {
  const all = [{ at: 0, label: 'before' }, ...events];
  return all.map(({ at, label }, i) => ({ from: at, to: all[i + 1]?.at ?? null, label }));
}

/* Tables that a picture of counts says more about. */

type Counts = readonly (readonly [name: string, count: number])[];

const COUNTED: ReadonlyMap<string, (table: ResultTable) => readonly ResultChart[]> = new Map([
  ['mutants', ({ rows }) => [judgesChart(rows)]],
  ['faults', ({ rows }) => [faultsChart(rows)]],
]);

const BARS_MAX = 14;

function judgesChart(rows: ResultTable['rows']): ResultChart {
  const judges = new Map<string, number>();
  for (const [, , claim] of rows) {
    const [judge = ''] = String(claim ?? 'not convicted').split(':');
    judges.set(judge, (judges.get(judge) ?? 0) + 1);
  }
  return barChart([...judges], {
    name: 'mutants-by-judge',
    title: 'Mutants, by the judge that convicts them first',
    caption: 'Each mutant is one known mistake, put back into the engine.',
    unit: 'mutants',
    axis: 'Judge',
  });
}

function faultsChart(rows: ResultTable['rows']): ResultChart {
  const counts = rows.map(([fault, times]) => [words(String(fault)), Number(times)] as const);
  return barChart(counts, {
    name: 'faults-by-kind',
    title: 'What the seeds did to the engine',
    caption: 'How often each fault was injected, over all runs.',
    unit: 'times',
    axis: 'Fault',
  });
}

/** `loseGroupAnswer` is "lose group answer". */
function words(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function barChart(
  counts: Counts,
  about: Pick<ResultChart, 'name' | 'title' | 'caption'> & { unit: string; axis: string },
): ResultChart {
  const { unit, axis, ...rest } = about;
  const sorted = counts.toSorted(([, a], [, b]) => b - a);
  const others = sorted.slice(BARS_MAX);
  const left = others.reduce((sum, [, count]) => sum + count, 0);
  const shown = [
    ...sorted.slice(0, BARS_MAX),
    ...(others.length === 0 ? [] : [[`${others.length} others`, left] as const]),
  ];
  return {
    ...rest,
    x: { title: axis, scale: 'linear', ticks: shown.map(([label], i) => ({ at: i + 1, label })) },
    y: { title: unit, scale: 'linear', ticks: [] },
    series: [
      {
        name: unit,
        look: 'percolator',
        isLine: false,
        points: shown.map(([, y], i) => ({ x: i + 1, y, low: null, high: null })),
      },
    ],
  };
}
