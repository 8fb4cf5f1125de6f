/**
 * A reader of EDN, one form after another, each with its line. It also reads JSON, which is nearly
 * a subset of EDN: the reader skips the colon after a name.
 *
 *     #jepsen.history.Op{:type :ok, :process 3, :value [[:append 5 1] [:r 6 [1 2]]]} ; a comment
 *
 * The existing library, edn-data, is not enough: it reads broken input as nil, rounds whole numbers
 * above 2^53, and does not know lines. `judge-lists.test.ts` compares the two on correct input.
 * Keywords become symbols (`Symbol.for('ok')`), maps become `Map`s by the names of their keys, and
 * lists, vectors and sets become arrays. Tags and metadata are skipped; the tagged value counts.
 */
import { BadLineError, naming } from '../lines.ts';

export type Form =
  | null
  | boolean
  | number
  | bigint
  | string
  /** A keyword, by its name. */
  | symbol
  | readonly Form[]
  | ReadonlyMap<string, Form>;

export interface NumberedForm {
  readonly line: number;
  readonly form: Form;
}

interface Source {
  /** For error messages. */
  readonly file: string;
  readonly isJson: boolean;
}

/** The forms of a file; if the whole file is one vector or list, its elements. */
export function* readForms(text: string, { file, isJson }: Source): Generator<NumberedForm> {
  const reader = new EdnReader(text, isJson);
  let line = 1;
  // Skipped forms are read, too, and may be broken.
  const closing = naming(file, line, () => reader.openWhole());
  let counted = 0;
  for (;;) {
    const at = naming(file, line, () => reader.skipToForm());
    for (; counted < at; counted++) if (text.charCodeAt(counted) === NEWLINE) line++;
    if (at >= text.length || (closing !== undefined && text[at] === closing)) {
      naming(file, line, () => reader.closeWhole(closing));
      return;
    }
    yield { line, form: naming(file, line, () => reader.read()) };
  }
}

const NEWLINE = 10;
const CLOSING: Readonly<Record<string, string>> = { '[': ']', '(': ')', '{': '}' };
/** An apostrophe may be in a symbol, but not begin it. */
const TOKEN = /[^\s,[\]{}()"';][^\s,[\]{}()";]*/y;
const JSON_TOKEN = /[^\s,[\]{}()":]+/y;
const WHITE = /[\s,]+|;[^\n]*/y;
const JSON_WHITE = /[\s,:]+/y;

class EdnReader {
  readonly #text: string;
  readonly #isJson: boolean;
  #at = 0;

  constructor(text: string, isJson: boolean) {
    this.#text = text;
    this.#isJson = isJson;
  }

  /** @returns the closing bracket if the whole file is one vector or list; otherwise undefined */
  openWhole(): string | undefined {
    const first = this.#text[this.skipToForm()] ?? '';
    if (first !== '[' && first !== '(') return undefined;
    this.#at++;
    return CLOSING[first];
  }

  closeWhole(closing: string | undefined): void {
    if (closing === undefined) return;
    if (this.#text[this.#at] !== closing) throw new BadLineError(`the file must end in ${closing}`);
    this.#at++;
    if (this.skipToForm() < this.#text.length) {
      throw new BadLineError(`the file must end after its ${closing}`);
    }
  }

  /** Skips white space, comments, and forms marked with `#_`. */
  skipToForm(): number {
    for (;;) {
      while (this.#match(this.#isJson ? JSON_WHITE : WHITE) !== undefined);
      if (this.#isJson || !this.#text.startsWith('#_', this.#at)) return this.#at;
      this.#at += 2;
      this.read();
    }
  }

  read(): Form {
    const first = this.#text[this.skipToForm()] ?? '';
    if (first === '"') return this.#string();
    if (first === '{') return this.#map();
    if (CLOSING[first] !== undefined) return this.#sequence(first);
    if (first === '\\' && !this.#isJson) return this.#character();
    if (first === '#' && !this.#isJson) return this.#dispatch();
    if (first === '^' && !this.#isJson) {
      this.#at++;
      this.read(); // Metadata.
      return this.read();
    }
    const token = this.#match(this.#isJson ? JSON_TOKEN : TOKEN);
    if (token === undefined) {
      throw new BadLineError(`a value must come before ${first || 'the end of the file'}`);
    }
    return valueOf(token);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return undefined;
    const from = this.#at;
    this.#at = pattern.lastIndex;
    return this.#text.slice(from, this.#at);
  }

  #string(): string {
    const from = this.#at;
    this.#at = endOfString(this.#text, from);
    const text = this.#text.slice(from, this.#at);
    if (!text.includes('\\')) return text.slice(1, -1);
    try {
      return JSON.parse(text.replaceAll(CONTROL, escaped)) as string;
    } catch {
      throw new BadLineError(
        `a string must have escapes of JSON only, but is ${text.slice(0, 40)}`,
      );
    }
  }

  #sequence(opening: string): readonly Form[] {
    const closing = CLOSING[opening] ?? '';
    this.#at++;
    const forms: Form[] = [];
    while (!this.#isClosed(closing)) forms.push(this.read());
    return forms;
  }

  #map(): ReadonlyMap<string, Form> {
    this.#at++;
    const map = new Map<string, Form>();
    while (!this.#isClosed('}')) {
      const key = nameOf(this.read());
      if (map.has(key)) {
        throw new BadLineError(`a map must have each key once, but has ${key} twice`);
      }
      if (this.#isClosed('}')) {
        throw new BadLineError(`a map must have a value for each key, but ${key} has none`);
      }
      map.set(key, this.read());
    }
    return map;
  }

  #isClosed(closing: string): boolean {
    const next = this.#text[this.skipToForm()];
    if (next === undefined) {
      throw new BadLineError(`what is opened here must be closed by ${closing}`);
    }
    if (next === closing) this.#at++;
    return next === closing;
  }

  /** `\c`, `\newline`, `\u0041` are kept as written: no history depends on them. */
  #character(): string {
    const from = ++this.#at;
    this.#at++;
    this.#match(TOKEN);
    return this.#text.slice(from, this.#at);
  }

  /** After `#`: a set, a number such as `##NaN`, or a tag. */
  #dispatch(): Form {
    this.#at++;
    const next = this.#text[this.#at];
    if (next === '{') return this.#sequence('{');
    if (next === '#') this.#at++;
    const name = this.#match(TOKEN);
    return next === '#' ? (name ?? '') : this.read();
  }
}

/**
 * Clojure escapes six characters, and writes all other control characters as they are, such as the
 * colours of an error; JSON must have them escaped.
 */
const CONTROL = /\p{Cc}/gu;

function escaped(control: string): string {
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Uses no pattern, which would need room on the stack for each character. */
function endOfString(text: string, from: number): number {
  for (let quote = text.indexOf('"', from + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let escapes = quote;
    while (text[escapes - 1] === '\\') escapes--;
    if ((quote - escapes) % 2 === 0) return quote + 1;
  }
  throw new BadLineError('a string must be closed by a quotation mark');
}

function valueOf(token: string): Form {
  switch (token) {
    case 'nil':
    case 'null':
      return null;
    case 'true':
    case 'false':
      return token === 'true';
  }
  if (token.startsWith(':')) return Symbol.for(token.slice(1));
  if (/^[-+]?\d+N?$/.test(token)) {
    const number = Number.parseInt(token, 10);
    return Number.isSafeInteger(number) ? number : BigInt(token.replace(/^\+|N$/g, ''));
  }
  return /^[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?M?$/.test(token) ? Number.parseFloat(token) : token;
}

/** The name of a key or a keyword, in EDN and in JSON. */
export function nameOf(form: Form | undefined): string {
  if (typeof form === 'symbol') return form.description ?? '';
  return typeof form === 'string' ? form : shownForm(form);
}

/** A form as EDN, for messages and for the names of keys. */
export function shownForm(form: Form | undefined): string {
  if (form === undefined) return 'missing';
  if (form === null) return 'nil';
  if (typeof form === 'symbol') return `:${form.description}`;
  if (typeof form === 'string') return JSON.stringify(form);
  if (form instanceof Map) {
    return `{${[...form].map(([key, value]) => `:${key} ${shownForm(value)}`).join(', ')}}`;
  }
  return Array.isArray(form) ? `[${form.map(shownForm).join(' ')}]` : `${form as number}`;
}
