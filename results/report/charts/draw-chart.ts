/**
 * Turns the description of a chart into a configuration of chart.js. Runs in Node (the PNG) and in
 * the page, into which html-page.ts writes all exports of this file. Series that the reader
 * has switched off are hidden, and the axes fit the others.
 */
import type { ChartConfiguration, ChartDataset, LegendItem } from 'chart.js';
import { decorations } from './decorations.ts';
import { axisRange, chartScale, extremes, type AxisRange } from './axes.ts';
import type { Chart, ChartAxis, ChartMark, ChartSeries } from './chart.ts';
import { seriesColor, type Theme } from './theme.ts';

export type DrawnMark = Omit<ChartMark, 'y'> & { readonly y: number };
export type ChartJsConfiguration = ChartConfiguration<'scatter', DrawnMark[]>;

export function chartConfiguration(
  chart: Chart,
  theme: Theme,
  isHidden: (name: string) => boolean,
): ChartJsConfiguration {
  const visible = chart.series.filter(({ name }) => !isHidden(name));
  const xs = [...visible.flatMap(seriesXs), ...spanXs(chart)];
  const x = axisRange(endedAxis(chart, xs), xs, 1);
  const isAnyOnEdge = visible.some((series) => series.isOnEdge === true);
  const y = axisRange(chart.y, visible.flatMap(seriesYs), isAnyOnEdge ? 4 : 1);
  return {
    type: 'scatter',
    data: {
      datasets: chart.series.map((series) => ({
        ...seriesDataset(series, theme, y),
        hidden: isHidden(series.name),
      })),
    },
    options: chartOptions(chart, { x, y }, theme),
    plugins: [decorations(chart, theme)],
  };
}

/** An axis of spans ends with the last one. */
export function endedAxis({ x, spans }: Chart, xs: readonly number[]): ChartAxis {
  return spans === undefined || xs.length === 0 ? x : { ...x, max: extremes(xs)[1] };
}

/** The charts of a timeline have the same spans, and so the same axis. */
export function spanXs({ spans = [] }: Chart): readonly number[] {
  return spans.flatMap(({ from, to }) => [from, to ?? from]);
}

export function seriesXs({ marks, band }: ChartSeries): readonly number[] {
  return [...marks, ...(band ?? [])].map(({ x }) => x);
}

export function seriesYs({ marks, band, isOnEdge }: ChartSeries): readonly number[] {
  if (isOnEdge === true) return [];
  const all = [...marks, ...(band ?? [])].flatMap(({ y, low, high }) => [y, low, high]);
  return all.filter((value) => value !== null && value !== undefined);
}

export function seriesDataset(
  series: ChartSeries,
  theme: Theme,
  y: AxisRange,
): ChartDataset<'scatter', DrawnMark[]> {
  const color = seriesColor(series.color, theme);
  const every = series.markEvery ?? 1;
  const isOnEdge = series.isOnEdge === true;
  const hasEnd = seriesYs(series).some((value) => value > y.max);
  const radius = isOnEdge ? 8 : 5;
  const isDrawn = (i: number): boolean =>
    every > 0 && i % every === 0 && series.barWidth === undefined;
  return {
    label: series.name,
    // NaN interrupts a line.
    data: series.marks.map((mark) => ({ ...mark, y: isOnEdge ? y.max : (mark.y ?? Number.NaN) })),
    showLine: series.line !== 'none',
    borderColor: color,
    backgroundColor: series.isHollow === true ? theme.background : color,
    borderWidth: 2,
    borderDash: lineDash(series),
    pointStyle: isOnEdge ? 'triangle' : series.marker,
    pointRadius: ({ dataIndex }) => (isDrawn(dataIndex) ? radius : 0),
    pointBorderWidth: 2,
    pointHoverRadius: radius + 2,
    // Marks at an edge are whole, but what goes on above an axis that ends ends there, too.
    clip: isOnEdge ? false : { left: 8, top: hasEnd ? 0 : 8, right: 8, bottom: 8 },
  };
}

export function lineDash({ line }: ChartSeries): number[] {
  return { none: [], solid: [], dashed: [6, 4], dotted: [1.5, 3.5] }[line];
}

export function chartOptions(
  chart: Chart,
  range: { readonly x: AxisRange; readonly y: AxisRange },
  theme: Theme,
): NonNullable<ChartJsConfiguration['options']> {
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    layout: { padding: { top: 12, right: 12, bottom: 4, left: 4 } },
    interaction: { mode: 'nearest', intersect: false, axis: 'xy' },
    scales: {
      x: chartScale(endedAxis(chart, [range.x.max]), range.x, theme),
      y: chartScale(chart.y, range.y, theme),
    },
    plugins: {
      // The page has a legend of its own, with switches.
      legend: { display: false },
      tooltip: {
        displayColors: false,
        callbacks: {
          title: ([first]) => first?.dataset.label ?? '',
          label: (item) => [...(item.raw as DrawnMark).words],
        },
      },
    },
  };
}

/** For a picture, which has no switches: the mark of each series, or else a piece of its line. */
export function legendItems(series: readonly ChartSeries[], theme: Theme): LegendItem[] {
  return series.map((one, index) => {
    const color = seriesColor(one.color, theme);
    const hasMarks = one.markEvery !== 0;
    return {
      text: one.name,
      fontColor: theme.text,
      strokeStyle: color,
      fillStyle: one.isHollow === true ? theme.background : color,
      lineWidth: 2,
      // With a mark, chart.js would dash its outline.
      lineDash: hasMarks ? [] : lineDash(one),
      pointStyle:
        one.barWidth !== undefined
          ? 'rect'
          : hasMarks
            ? one.isOnEdge === true
              ? 'triangle'
              : one.marker
            : 'line',
      datasetIndex: index,
    };
  });
}
