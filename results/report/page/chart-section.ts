/**
 * A chart on a page: its title and caption, a switch for each series, the canvas, and below it the
 * table of its numbers, folded. The switches are the legend, and work with the keyboard.
 */
import type { Chart, ChartSeries, Marker } from '../charts/chart.ts';
import { html, type Html } from './html.ts';
import { foldedTable, type PageTable } from './table.ts';

export interface ChartWithTable {
  readonly chart: Chart;
  /** The numbers that are drawn. */
  readonly table: PageTable;
  /** The file of its picture as curves, in the run's folder. */
  readonly svg?: string;
}

/** @param size `tall` for the main chart of a page */
export function chartSection(one: ChartWithTable, size: 'tall' | '' = ''): Html {
  return html`<section>
    <h2>${one.chart.title}</h2>
    ${chartWithSwitches(one, size)}
  </section>`;
}

/** A chart without its title, below a heading of the caller; a timeline has no table. */
export function chartWithSwitches(
  { chart, table, svg }: Pick<ChartWithTable, 'chart'> & Partial<ChartWithTable>,
  size: 'tall' | '' = '',
): Html {
  return html`<fieldset class="switches">
      <legend>Series of the chart</legend>
      ${chart.series.map((series) => seriesSwitch(chart, series))}
    </fieldset>
    <div class="chart ${size}">
      <canvas
        id="${chart.name}"
        role="img"
        aria-label="${chart.title}${table === undefined ? '' : '. The table below has its numbers.'}"
      ></canvas>
    </div>
    ${chart.caption === '' ? null : html`<p class="small">${chart.caption}</p>`}
    <noscript><p>The chart needs JavaScript; a table below does not.</p></noscript>
    <p class="small picture">
      Point at a mark for its numbers.
      <button type="button" data-chart="${chart.name}">Save as PNG</button>
      ${fileLink(svg, 'SVG')} ${fileLink(table?.file, 'CSV')}
    </p>
    ${table === undefined ? null : foldedTable(table)}`;
}

/** To a file next to the page. */
function fileLink(file: string | undefined, words: string): Html | null {
  return file === undefined ? null : html`<a href="${file}">${words}</a>`;
}

const CHECKED = html`checked`;

function seriesSwitch(chart: Chart, series: ChartSeries): Html {
  return html`<label>
    <input
      type="checkbox"
      ${series.isOff === true ? null : CHECKED}
      data-chart="${chart.name}"
      data-series="${series.name}"
    />
    ${swatch(series)} ${series.name}
  </label>`;
}

/** A piece of the line with its mark, as in the chart. */
function swatch(series: ChartSeries): Html {
  const { color, isHollow, isOnEdge, markEvery, band } = series;
  const line = band === undefined ? series.line : 'solid';
  const shape =
    isOnEdge === true
      ? SHAPES.triangle
      : series.barWidth !== undefined
        ? SHAPES.rect
        : SHAPES[series.marker];
  const dash = { none: null, solid: '', dashed: '5 3', dotted: '1.5 3' }[line];
  return html`<svg
    class="swatch"
    style="color: var(--${color === 'paper' ? 'paper' : `series-${color % 6}`})"
    viewBox="0 0 28 14"
    aria-hidden="true"
  >
    ${
      dash === null
        ? null
        : html`<path d="M1 7h26" stroke="currentColor" stroke-dasharray="${dash}" />`
    }
    ${
      markEvery === 0
        ? null
        : html`<path
            d="${shape}"
            stroke="currentColor"
            fill="${isHollow === true ? 'var(--background)' : 'currentColor'}"
          />`
    }
  </svg>`;
}

/** The marks of chart.js as paths around (14, 7). */
const SHAPES: Readonly<Record<Marker, string>> = {
  circle: 'M9.5 7a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z',
  rect: 'M10 3h8v8h-8z',
  triangle: 'M14 2l5 9h-10z',
  rectRot: 'M14 1.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z',
  star: 'M14 2v10M9 7h10M10.5 3.5l7 7M17.5 3.5l-7 7',
  crossRot: 'M10 3l8 8M18 3l-8 8',
};
