/**
 * HTML from a template in which every value is escaped, unless it is HTML made the same way.
 *
 * A URL from a crawl is written by strangers; no page section has to remember that.
 */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = string | number | Html | readonly Html[] | null;

/** `html\`<td>${name}</td>\``: a null is nothing, a list its items one after the other. */
export function html(pieces: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const text = pieces.map((piece, index) => piece + render(values[index] ?? null));
  return new Html(text.join(''));
}

/**
 * JSON that can stand inside a script element. Inside one the browser knows no escapes, only the
 * sequences that end it or start a comment, all of which begin with `<`.
 */
export function inlineJson(value: unknown): Html {
  return new Html(JSON.stringify(value).replaceAll('<', '\\u003c'));
}

/** A script of ours or of a library, with the one sequence that would end its element defused. */
export function inlineScript(source: string): Html {
  return new Html(source.replaceAll(/<\/(script)/gi, '<\\/$1').replaceAll('<!--', '<\\!--'));
}

function render(value: HtmlValue): string {
  if (value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map((item) => item.text).join('');
  return escapeHtml(String(value));
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
