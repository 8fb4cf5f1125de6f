/** Tables: every one has a caption, scopes for its headers, and its own box to scroll in. */
import { formatDigits } from '../charts/format.ts';
import type { ResultTable } from '../run-record.ts';
import { html, type Html } from './html.ts';

export type Cell = string | number | Html | null;

export interface PageTable extends Omit<ResultTable, 'rows'> {
  readonly rows: readonly (readonly Cell[])[];
  /** The CSV file of its numbers, in the run's folder. */
  readonly file?: string;
}

/** Longer tables are folded, so that they do not hide what follows. */
const OPEN_ROWS_MAX = 16;

export function isLong({ rows }: PageTable): boolean {
  return rows.length > OPEN_ROWS_MAX;
}

export function tableSection(table: PageTable): Html {
  return html`<section>
    <h2>${table.title}</h2>
    ${isLong(table) ? foldedTable(table) : scrolledTable(table)}
  </section>`;
}

export function foldedTable(table: PageTable): Html {
  return html`<details>
    <summary>
      Table: ${table.title} (${table.rows.length} ${table.rows.length === 1 ? 'row' : 'rows'})
    </summary>
    ${scrolledTable(table)}
  </details>`;
}

/** The box takes the focus, so that the keyboard can scroll it. */
function scrolledTable(table: PageTable): Html {
  const { name, title, caption, columns, rows, file } = table;
  const classes = columns.map((_, column) =>
    rows.every((row) => isNumber(row[column] ?? null)) ? 'number' : '',
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${title}">
    <table id="table-${name}">
      <caption>
        ${caption === '' ? title : caption}
        ${file === undefined ? null : html`<a href="${file}">CSV</a>`}
      </caption>
      <thead>
        <tr>
          ${columns.map(
            (column, i) => html`<th scope="col" class="${classes[i] ?? ''}">${column}</th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${rows.map(([first, ...rest]) => rowOf(first ?? null, rest, classes))}
      </tbody>
    </table>
  </div>`;
}

function rowOf(first: Cell, rest: readonly Cell[], classes: readonly string[]): Html {
  return html`<tr>
    <th scope="row" class="${classes[0] ?? ''}">${cellText(first)}</th>
    ${rest.map((value, i) => html`<td class="${classes[i + 1] ?? ''}">${cellText(value)}</td>`)}
  </tr>`;
}

function cellText(value: Cell): string | Html | null {
  return typeof value === 'number' ? formatDigits(value) : value;
}

/** A number, or a short text that begins with one: "5.05 ms". */
function isNumber(value: Cell): boolean {
  if (value === null || typeof value === 'number') return true;
  return typeof value === 'string' && /^[\d\u2013\u221e][^;]{0,11}$/.test(value);
}

/** A verdict in the colour of its kind. */
export function verdict(isGood: boolean, words: string): Html {
  return html`<span class="${isGood ? 'ok' : 'bad'}">${words}</span>`;
}
