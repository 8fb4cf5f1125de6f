/**
 * The charts of findings: for each, a description that can be drawn, and the table of its numbers.
 */
import type {
  ResultAxis,
  ResultChart,
  ResultMark,
  ResultSeries,
  ResultTable,
} from '../run-record.ts';
import { tooFewSamples } from '../histogram.ts';
import type { Chart, ChartAxis, ChartGap, ChartMark, ChartSeries, Marker } from './chart.ts';
import { counted, formatDigits, formatRatio } from './format.ts';

export function findingsChart(chart: ResultChart): Chart {
  const { name, title, caption, x, y, series, spans } = chart;
  const gap = gapOf(chart);
  const barWidth = barWidthOf(chart);
  return {
    ...(spans && { spans }),
    ...(gap && { gap }),
    name,
    title,
    caption,
    x: axisOf(
      x,
      series.flatMap(({ points }) => points.map((point) => point.x)),
    ),
    y: axisOf(
      y,
      series.flatMap(({ points, isUnbounded }) =>
        isUnbounded === true ? [] : points.map((point) => point.y),
      ),
    ),
    series: series.map((one, i) => {
      const drawn = seriesOf(one, lookOf(series, i), x);
      return barWidth === undefined ? drawn : barsOf(drawn, barWidth, places(chart));
    }),
  };
}

/** The places of a word's marks, from the word's own on: 1, 1.15 and 1.3. */
function places({ series }: ResultChart): readonly number[] {
  const all = series.flatMap(({ points }) => points.map(({ x }) => x));
  return [...new Set(all)].toSorted((a, b) => a - b);
}

/** The middle of a word's bars is above the word. */
function barsOf(
  { marks, ...series }: ChartSeries,
  barWidth: number,
  xs: readonly number[],
): ChartSeries {
  const aside = Math.max(0, ...xs.map((x) => x - Math.round(x))) / 2;
  return {
    ...series,
    barWidth,
    marks: marks.map((mark) => Object.assign({}, mark, { x: mark.x - aside })),
  };
}

/**
 * Where both series have a value; how many times as large the upper one is at the first place where
 * both have enough samples for a median.
 */
function gapOf({ gap, series }: ResultChart): ChartGap | undefined {
  if (!gap) return undefined;
  const pointsOf = (named: string): ResultSeries['points'] =>
    series.find(({ name }) => name === named)?.points ?? [];
  const found = pointsOf(gap.upper).flatMap((upper) => {
    const { x, y: high } = upper;
    const lower = pointsOf(gap.lower).find((point) => point.x === x);
    if (lower === undefined || lower.y <= 0 || lower.y >= high) return [];
    const isEnough = [upper, lower].every(({ samples }) => tooFewSamples(samples) === null);
    return [{ edge: { x, low: lower.y, high }, isEnough }];
  });
  if (found.length === 0) return undefined;
  const edge = found.find(({ isEnough }) => isEnough)?.edge;
  const labelled = edge && { ...edge, words: formatRatio(edge.high / edge.low) };
  return { ...gap, edges: found.map((one) => one.edge), labelled };
}

/** Undefined if the chart has marks: bars need places with words, and an axis that begins at 0. */
function barWidthOf(chart: ResultChart): number | undefined {
  const { x, y, series } = chart;
  const isOfBars =
    hasWords(x) &&
    y.scale === 'linear' &&
    series.every(({ isLine, isUnbounded, fit }) => !isLine && isUnbounded !== true && !fit);
  if (!isOfBars) return undefined;
  const sorted = places(chart);
  const distances = sorted.slice(1).map((place, i) => place - (sorted[i] ?? 0));
  return Math.min(0.6, 0.9 * Math.min(1, ...distances));
}

/** The numbers of a chart, for records that have no table of them. */
export function tableOf({ name, title, x, y, series }: ResultChart): ResultTable {
  const marks = series.flatMap(({ name: of, points, isUnbounded }) =>
    points.map((mark) => ({ mark, of, y: isUnbounded === true ? null : mark.y })),
  );
  const hasIntervals = marks.some(({ mark: { low } }) => low !== null);
  const hasSamples = marks.some(({ mark: { samples } }) => typeof samples === 'number');
  return {
    name,
    title,
    caption: 'The numbers that are drawn.',
    columns: [
      'series',
      x.title,
      y.title,
      ...(hasIntervals ? ['from', 'to'] : []),
      ...(hasSamples ? ['samples'] : []),
    ],
    rows: marks.map(({ mark, of, y: value }) =>
      [
        [of, placeText(mark.x, x), value],
        hasIntervals ? [mark.low, mark.high] : [],
        hasSamples ? [mark.samples ?? null] : [],
      ].flat(),
    ),
  };
}

/** Ticks of a linear axis are words, one for each place of the axis. */
function axisOf({ title, scale, ticks, max }: ResultAxis, values: readonly number[]): ChartAxis {
  const isWhole = values.every(Number.isInteger);
  const end = typeof max === 'number' ? { max } : {};
  return { ...end, title, scale, ticks, hasWords: hasWords({ ticks, scale }), isWhole };
}

function hasWords({ scale, ticks }: Pick<ResultAxis, 'scale' | 'ticks'>): boolean {
  return scale === 'linear' && ticks.length > 0;
}

type Look = Pick<ChartSeries, 'color' | 'marker' | 'isHollow'>;

/**
 * The first series of Percolator and the first of what it is compared with have the same colour and
 * mark in every chart; each further series has one of its own.
 */
function lookOf(all: readonly ResultSeries[], index: number): Look {
  const { look, sameAs } = all[index] ?? { look: 'other' };
  const same = all.findIndex(({ name }) => name === sameAs);
  if (same >= 0 && same !== index) return { ...lookOf(all, same), isHollow: true };
  if (look === 'paper') return { color: 'paper', marker: 'rectRot', isHollow: true };
  const isFirst = (at: number): boolean =>
    all.findIndex((series) => series.look === all[at]?.look) === at;
  if (isFirst(index)) {
    return look === 'percolator' ? { color: 0, marker: 'circle' } : { color: 1, marker: 'rect' };
  }
  const rank = all
    .slice(0, index)
    .filter((one, at) => one.look !== 'paper' && one.sameAs == null && !isFirst(at)).length;
  return { color: 2 + rank, marker: FURTHER[rank % FURTHER.length] ?? 'star' };
}

const FURTHER: readonly Marker[] = ['triangle', 'rectRot', 'crossRot', 'star'];

function seriesOf(series: ResultSeries, look: Look, x: ResultAxis): ChartSeries {
  const band = (series.fit ?? []).map(({ x: at, y, low, high }) => ({
    x: at,
    y,
    low: low ?? y,
    high: high ?? y,
  }));
  return {
    ...look,
    name: series.name,
    ...lineOf(series),
    ...(series.isOff === true && { isOff: true }),
    ...(series.isUnbounded === true && { isOnEdge: true, isHollow: false }),
    marks: series.points.map((mark) => markOf(mark, series, x)),
    ...(band.length > 0 ? { band } : {}),
  };
}

/** Most marks of a series whose numbers are next to them. */
const LABELLED_MAX = 16;

/**
 * A mark at a place with a word, which no line leads to, has its number next to it, unless it has a
 * text of its own.
 */
function markOf(
  mark: ResultMark,
  { isLine, points, isUnbounded }: ResultSeries,
  x: ResultAxis,
): ChartMark {
  if (isUnbounded === true) {
    return { x: mark.x, y: null, words: [`without bound at ${placeText(mark.x, x)}`] };
  }
  const { label: text, ...place } = mark;
  const isLabelled = !isLine && hasWords(x) && points.length <= LABELLED_MAX;
  const label = text ?? (isLabelled ? formatDigits(mark.y) : null);
  return { ...place, words: wordsOf(mark, x), ...(label !== null && { label: [label] }) };
}

/** More marks than these would hide the line that joins them. */
const MARKS_MAX = 60;

/** A level of the paper, or a bound, is a dashed line without marks, unless it is one point. */
function lineOf({
  isLine,
  look,
  points,
  sameAs,
}: ResultSeries): Pick<ChartSeries, 'line' | 'markEvery'> {
  if (!isLine) return { line: 'none' };
  const isLevel = look === 'paper' && points.length > 1;
  const hasMarks = !isLevel && points.length <= MARKS_MAX;
  return {
    line: isLevel || sameAs != null ? 'dashed' : 'solid',
    ...(hasMarks ? {} : { markEvery: 0 }),
  };
}

function wordsOf(
  { x, y, low, high, samples }: ResultSeries['points'][number],
  axis: ResultAxis,
): readonly string[] {
  return [
    `${formatDigits(y)} at ${placeText(x, axis)}`,
    ...(low === null || high === null ? [] : [`${formatDigits(low)} to ${formatDigits(high)}`]),
    ...(typeof samples === 'number' ? [counted(samples, 'samples')] : []),
  ];
}

/** The place's word; marks that lie next to each other at one place share it. */
function placeText(x: number, { ticks, scale }: ResultAxis): string {
  const word = (at: number): string | undefined => ticks.find((tick) => tick.at === at)?.label;
  return word(x) ?? (scale === 'linear' ? word(Math.round(x)) : undefined) ?? formatDigits(x);
}
