/**
 * `report.html`: one self-contained page. Style, font, chart.js, data and program are inlined, and
 * a content policy forbids every request, so it can be mailed, archived and opened without a
 * network.
 *
 * The order is that of a sceptical reader: the findings, their limitations, the figure, its
 * numbers, the targets, and only then the views that show why.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { ChartData } from '../charts/chart-data.ts';
import { fontFiles } from '../charts/fonts.ts';
import { chartTheme } from '../charts/theme.ts';
import { costFigure } from '../charts/cost.ts';
import { distributionFigure } from '../charts/distribution.ts';
import { normalisedFigure } from '../charts/normalised.ts';
import type { RunRecord } from '../run-record.ts';
import { browserSource } from './browser-source.ts';
import { headline } from './headline.ts';
import { Html, html, inlineJson, inlineScript } from './html.ts';
import { latencyTable, pointRemarks } from './latency-table.ts';
import { crawlSection, figuresSection, limitationsSection, memoryText } from './sections.ts';
import { runSection, targetsSection } from './sections.ts';

export function reportPage(record: RunRecord, data: ChartData): string {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content="${CONTENT_POLICY}" />
        <meta name="color-scheme" content="light dark" />
        <title>Crawl rate against clustering latency: ${record.runId}</title>
        <link rel="icon" href="data:," />
        <style>
          ${new Html(fontFaces() + readFileSync(path.join(import.meta.dirname, 'style.css'), 'utf8'))}
        </style>
      </head>
      <body>
        <main>
          ${pageHead(record)} ${limitationsSection(record)} ${figureSection(record)}
          ${targetsSection(record)} ${furtherCharts(data)} ${crawlSection(record.crawl)}
          ${runSection(record)}
        </main>
        <script type="application/json" id="chart-data">
          ${inlineJson(data)}
        </script>
        <script>
          ${inlineScript(chartLibrary())};
        </script>
        <script>
          ${inlineScript(browserSource())};
        </script>
      </body>
    </html>`;
  return page.text;
}

const CONTENT_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " +
  'font-src data:; img-src data:';

function pageHead(record: RunRecord): Html {
  const { environment: place } = record;
  const words = [
    `${record.profile} profile`,
    record.repeats === 1 ? 'one repeat: exploratory' : `${record.repeats} repeats`,
    `${record.store.name} store`,
    `${place.cores} cores, ${memoryText(place.memoryBytes)}`,
    record.startedAt.slice(0, 10),
    ...(record.state === 'finished' ? [] : [`run ${record.state}, not finished`]),
  ];
  return html`<header>
    <p class="kicker">Percolator paper, figure 7</p>
    <h1>Crawl rate against clustering latency</h1>
    <p class="headline">${headline(record)}</p>
    <ul class="chips">
      ${words.map((word) => html`<li>${word}</li>`)}
    </ul>
    ${figuresSection(record)}
  </header>`;
}

function figureSection(record: RunRecord): Html {
  const boxes = [
    ['show-median', 'median'],
    ['show-p99', '99th percentile'],
    ['show-paper', 'the paper\u2019s points'],
  ] as const;
  return html`<section>
    <h2>Latency until clustered, by crawl rate</h2>
    <p class="boxes">
      ${boxes.map(
        ([id, name]) => html`<label><input type="checkbox" id="${id}" checked /> ${name}</label> `,
      )}
    </p>
    ${canvas('figure-7', 'Latency against crawl rate for MapReduce and Percolator', 'tall')}
    <p class="small">
      Both axes are logarithmic. An arrow at the upper edge marks a rate at which the system did not
      keep up: its backlog grows, and with it the latency, without bound. Hollow marks and the
      dashed line are the numbers that the paper states for its own 240 machines; the dotted line is
      the model of the batch, not a measurement.
    </p>
    ${latencyTable(record.points)} ${pointRemarks(record.points)}
    <noscript
      ><p>The charts need JavaScript; figure-7.png in the same folder does not.</p></noscript
    >
  </section>`;
}

/** The other charts for which this run has data. */
function furtherCharts(data: ChartData): Html {
  const theme = chartTheme(false);
  const visible = { median: true, p99: true, paper: true };
  return html`
    ${
      normalisedFigure(data, theme, visible) === null
        ? null
        : chartSection(
            'normalised',
            'The same figure, independent of the machine',
            `Everything in units of one batch run over the whole repository. This is the picture in
          which a laptop and the paper\u2019s cluster can be compared: every batch that keeps up has
          its median near 1.5 batch runs.`,
          )
    }
    ${
      distributionFigure(data, theme) === null
        ? null
        : chartSection(
            'distribution',
            'The whole distribution of each point',
            `Repeats are merged before percentiles are taken. The stronger the colour, the higher the
          crawl rate; a curve ends where less than one document lies beyond.`,
          )
    }
    ${
      costFigure(data, theme) === null
        ? null
        : chartSection(
            'cost',
            'The cost of a new document',
            `The batch reads the whole repository however few documents have arrived; Percolator
          pays per document. Where the lines cross, the batch becomes cheaper.`,
          )
    }
    ${
      data.backlogs.length === 0
        ? null
        : chartSection(
            'backlog',
            'Documents waiting, over the time of a point',
            'If the line stays level, the system keeps up; if it climbs, the system has no latency to report.',
          )
    }
  `;
}

function chartSection(id: string, title: string, caption: string): Html {
  return html`<section>
    <h2>${title}</h2>
    <p>${caption}</p>
    ${canvas(id, title, '')}
  </section>`;
}

function canvas(id: string, label: string, size: string): Html {
  return html`<div class="chart ${size}">
    <canvas id="${id}" role="img" aria-label="${label}"></canvas>
  </div>`;
}

function chartLibrary(): string {
  const entry = createRequire(import.meta.url).resolve('chart.js');
  const source = readFileSync(path.join(path.dirname(entry), 'chart.umd.min.js'), 'utf8');
  // The source map is in the folder of the library, not in that of the page.
  return source.replace(/\/\/# sourceMappingURL=.*$/m, '');
}

function fontFaces(): string {
  const faces = fontFiles().map(
    ({ weight, bytes }) =>
      `@font-face { font-family: Inter; font-weight: ${weight}; src: url(data:font/woff2;base64,` +
      `${Buffer.from(bytes).toString('base64')}) format('woff2'); }\n`,
  );
  return faces.join('');
}
