/** Tables: every one has a caption, scopes for its headers, and its own box to scroll in. */
import { counted, formatDigits } from '../charts/format.ts';
import type { ResultTable } from '../run-record.ts';
import { html, type Html } from './html.ts';

export type Cell = string | number | Html | null;

export interface PageTable extends Omit<ResultTable, 'rows'> {
  readonly rows: readonly (readonly Cell[])[];
  /** The CSV file of its numbers, in the run's folder. */
  readonly file?: string;
  /** On a narrow screen each row becomes a card of lines: for sentences, which must not be cut. */
  readonly hasCards?: boolean;
}

/** Longer tables are folded, so that they do not hide what follows. */
const OPEN_ROWS_MAX = 16;

export function isLong({ rows }: PageTable): boolean {
  return rows.length > OPEN_ROWS_MAX;
}

export function tableSection(table: PageTable): Html {
  return html`<section>
    <h2>${table.title}</h2>
    ${openTable(table)}
  </section>`;
}

function openTable(table: PageTable): Html {
  if (table.rows.length === 0) return html`<p>${table.caption}</p>`;
  return isLong(table) ? foldedTable(table) : scrolledTable(table);
}

export function foldedTable(table: PageTable): Html {
  return html`<details data-fold="${table.name}">
    <summary>Table: ${table.title} (${counted(table.rows.length, 'rows')})</summary>
    ${scrolledTable(table)}
  </details>`;
}

/** The box takes the focus, so that the keyboard can scroll it. */
function scrolledTable(table: PageTable): Html {
  const { name, title, caption, columns, rows, file, hasCards } = table;
  const classes = columns.map((_, column) =>
    rows.every((row) => isNumber(row[column] ?? null)) ? 'number' : '',
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${title}">
    <table id="table-${name}" ${hasCards === true ? CARDS.table : null}>
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
        ${rows.map((row) => rowOf(row, classes, hasCards === true ? columns : null))}
      </tbody>
    </table>
  </div>`;
}

/**
 * The roles of rows and cells: a browser drops those that are not explicit where a narrow screen
 * shows the cells as lines.
 */
const CARDS = {
  table: html` class="cards" role="table"`,
  row: html` role="row"`,
  head: html` role="rowheader"`,
  cell: (column: string): Html => html` role="cell" data-column="${column}"`,
};

/** @param cards the columns of a table whose rows become cards */
function rowOf(
  [first, ...rest]: readonly Cell[],
  classes: readonly string[],
  cards: readonly string[] | null,
): Html {
  const cell = (value: Cell, i: number): Html =>
    html`<td${cards && CARDS.cell(cards[i] ?? '')} class="${classes[i] ?? ''}">${cellText(value)}</td>`;
  return html`<tr${cards && CARDS.row}>
    <th scope="row"${cards && CARDS.head} class="${classes[0] ?? ''}">${cellText(first ?? null)}</th>
    ${rest.map((value, i) => cell(value, i + 1))}
  </tr>`;
}

function cellText(value: Cell): string | Html | null {
  return typeof value === 'number' ? formatDigits(value) : value;
}

/** A number, or a short text that begins with a digit, a dash or an infinity sign: "5.05 ms". */
function isNumber(value: Cell): boolean {
  if (value === null || typeof value === 'number') return true;
  return typeof value === 'string' && /^[\d\u2013\u221e][^;]{0,11}$/.test(value);
}

/** A verdict in the colour of its kind. */
export function verdict(isGood: boolean, words: string): Html {
  return html`<span class="${isGood ? 'ok' : 'bad'}">${words}</span>`;
}
