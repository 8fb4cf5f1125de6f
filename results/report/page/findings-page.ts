/**
 * `report.html` of an experiment that has tables and charts of its own. The file is self-contained:
 * the charts are embedded pictures, there is no program, and a content policy forbids every
 * request.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { formatDigits } from '../charts/format.ts';
import type { Findings, ResultChart, ResultTable, RunRecord } from '../run-record.ts';
import { Html, html } from './html.ts';
import { limitationsSection, memoryText, runSection, targetsSection } from './sections.ts';

export interface Picture {
  readonly chart: ResultChart;
  readonly png: Buffer;
}

export function findingsPage(
  record: RunRecord,
  findings: Findings,
  pictures: readonly Picture[],
): string {
  const style = readFileSync(path.join(import.meta.dirname, 'style.css'), 'utf8');
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta
          http-equiv="Content-Security-Policy"
          content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        />
        <meta name="color-scheme" content="light dark" />
        <title>${findings.title}: ${record.runId}</title>
        <link rel="icon" href="data:," />
        <style>
          ${new Html(style)}
        </style>
      </head>
      <body>
        <main>
          ${pageHead(record, findings)} ${limitationsSection(record)} ${checkSection(findings)}
          ${targetsSection(record)} ${pictures.map(pictureSection)}
          ${findings.tables.map(tableSection)} ${runSection(record)}
        </main>
      </body>
    </html>`;
  return page.text;
}

function pageHead(record: RunRecord, { kicker, title, headline }: Findings): Html {
  const { environment: place } = record;
  const words = [
    `${record.profile} profile`,
    `${place.cores} cores, ${memoryText(place.memoryBytes)}`,
    record.startedAt.slice(0, 10),
    ...(record.state === 'finished' ? [] : [`run ${record.state}, not finished`]),
  ];
  return html`<header>
    <p class="kicker">${kicker}</p>
    <h1>${title}</h1>
    <p class="headline">${headline}</p>
    <ul class="chips">
      ${words.map((word) => html`<li>${word}</li>`)}
    </ul>
  </header>`;
}

function checkSection({ kind, check }: Findings): Html {
  const failed = kind === 'proof' ? 'NOT proven: ' : 'THE CHECK FAILED, so there are no numbers: ';
  return html`<p>${check.passed ? 'Checked: ' : failed}${check.detail}</p>`;
}

function pictureSection({ chart, png }: Picture): Html {
  return html`<section>
    <h2>${chart.title}</h2>
    <p>${chart.caption}</p>
    <img
      src="data:image/png;base64,${png.toString('base64')}"
      alt="${chart.title}"
      style="width: 100%; height: auto"
    />
  </section>`;
}

function tableSection({ name, title, caption, columns, rows }: ResultTable): Html {
  return html`<section>
    <h2>${title}</h2>
    <p>${caption}</p>
    <div class="scroll">
      <table id="${name}">
        <thead>
          <tr>
            ${columns.map((column) => html`<th>${column}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ([first, ...rest]) =>
              html`<tr>
                <th scope="row">${cellText(first)}</th>
                ${rest.map((value) => html`<td>${cellText(value)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function cellText(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'number' ? formatDigits(value) : value;
}
