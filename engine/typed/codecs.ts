/**
 * Codecs: what the bytes of a cell mean in a program.
 *
 *     value ──encode──▶ text or bytes ──▶ the cell ──▶ bytes ──decode──▶ value
 *
 * A user's own codec is an object with these two functions. In place of a codec, a column may have
 * a validator that follows Standard Schema (zod, valibot, arktype and others do): the cell then
 * holds JSON. It is validated when it is written, so that nothing wrong is stored, and when it is
 * read, so that defaults and conversions of the schema apply to the present form of the type. What
 * is stored is what was given, and not what the schema made of it, which may be no JSON.
 *
 * Nothing in the cell says by which codec it was written: if a column has values, its next codec
 * must read them, too.
 */
import { PercolatorError, textOf } from '../base/index.ts';
import { FUNCTION, isObject, objectWith, type OptionRule } from '../base/options.ts';

export interface Codec<out Output, in Input = Output> {
  /** Throws for what it cannot write. Called in `set`, so it returns no promise. */
  encode(value: Input): Uint8Array | string;
  /** Throws for what it cannot read. */
  decode(bytes: Uint8Array): Output;
}

/** What validators have in common: the part of Standard Schema, version 1, that is used here. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a column holds. */
export type ColumnType = Codec<unknown, never> | StandardSchema;

type TypesOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>;

/** What is read from a column of this type. */
export type OutputOf<T extends ColumnType> =
  T extends Codec<infer Output, never>
    ? Output
    : T extends StandardSchema
      ? TypesOf<T>['output']
      : never;

/** What is written to a column of this type. */
export type InputOf<T extends ColumnType> = T extends {
  encode(value: infer Input): Uint8Array | string;
}
  ? Input
  : T extends StandardSchema
    ? TypesOf<T>['input']
    : never;

const text: Codec<string> = {
  encode: (value) => expect(value, 'string', 'a text'),
  decode: textOf,
};

/** Read as bytes; written as bytes or as a text. */
const bytes: Codec<Uint8Array, Uint8Array | string> = {
  encode: (value) =>
    ArrayBuffer.isView(value) ? value : expect(value, 'string', 'a text or bytes'),
  decode: (value) => value,
};

/** In decimal digits, as JavaScript writes them, so that other programs can read them. */
const number: Codec<number> = {
  encode: (value) => String(expect(value, 'number', 'a number')),
  decode: (stored) => {
    const digits = textOf(stored);
    const value = Number(digits);
    if (digits === String(value) || (digits.trim() !== '' && !Number.isNaN(value))) return value;
    throw new TypeError(`${JSON.stringify(digits)} is no number`);
  },
};

/** JSON, of a type that only the compiler knows; with a schema instead, it is validated. */
function json<T>(): Codec<T> {
  return {
    encode: jsonOf,
    decode: (stored) => JSON.parse(textOf(stored)) as T, // The caller promises the type.
  };
}

/** The codecs that come with the engine. */
export const codecs: {
  readonly text: Codec<string>;
  readonly bytes: Codec<Uint8Array, Uint8Array | string>;
  readonly number: Codec<number>;
  readonly json: typeof json;
} = { text, bytes, number, json };

function jsonOf(value: unknown): string {
  const written: string | undefined = JSON.stringify(value);
  if (written !== undefined) return written;
  throw new TypeError(`JSON has no ${typeof value}`);
}

function expect<T>(value: T, type: string, words: string): T {
  if (typeof value === type) return value;
  throw new TypeError(`it must be ${words}, not ${value === null ? 'null' : `a ${typeof value}`}`);
}

export const COLUMN_TYPE: OptionRule = {
  expected: 'a codec, or a validator of Standard Schema',
  accepts: (value) => isSchema(value) || CODEC.accepts(value),
};

const CODEC = objectWith('a codec', { encode: FUNCTION, decode: FUNCTION });

/** Some validators are functions. */
function isSchema(value: unknown): value is StandardSchema {
  const isPossible = isObject(value) || typeof value === 'function';
  return isPossible && '~standard' in value && isObject(value['~standard']);
}

export function codecOf(type: ColumnType): Codec<unknown, never> {
  return isSchema(type) ? codecOfSchema(type) : type;
}

function codecOfSchema(schema: StandardSchema): Codec<unknown> {
  return {
    encode: (value) => {
      validated(schema, value);
      return jsonOf(value);
    },
    decode: (stored) => validated(schema, JSON.parse(textOf(stored))),
  };
}

function validated(schema: StandardSchema, value: unknown): unknown {
  const result = schema['~standard'].validate(value);
  if (result instanceof Promise) {
    result.catch(() => {}); // What it says is too late.
    const message = 'a validator of a column must answer at once, and not by a promise';
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  if (result.issues === undefined) return result.value;
  throw new TypeError(result.issues.map(described).join('; '));
}

function described({ message, path = [] }: Issue): string {
  const names = path.map((one) => String(typeof one === 'object' ? one.key : one));
  return names.length === 0 ? message : `${names.join('.')}: ${message}`;
}
