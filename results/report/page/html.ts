/**
 * HTML from a template in which every value is escaped, unless it is HTML made the same way.
 *
 * URLs from a crawl are untrusted text; with this, no page section has to escape them.
 */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = string | number | Html | readonly Html[] | null;

/** `html\`<td>${name}</td>\``: null gives no text, a list gives its items one after the other. */
export function html(pieces: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const text = pieces.map((piece, index) => piece + render(values[index] ?? null));
  return new Html(text.join(''));
}

/**
 * JSON for the inside of a script element. There the browser knows no escapes, only the sequences
 * that end the element or start a comment, and all of them begin with `<`.
 */
export function inlineJson(value: unknown): Html {
  return new Html(JSON.stringify(value).replaceAll('<', '\\u003c'));
}

/** A script of the project or a library; sequences that would end its element are escaped. */
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
