/**
 * Shapes convert a value of unknown content, parsed from JSON, to a value of a known type.
 *
 * A shape takes the value and its place (`points[3].check.passed`) and returns the typed value or
 * throws an error that names the place. `object<T>` demands a shape for every field of T, so a
 * field added to a type without its check does not compile.
 */

export interface Shape<T> {
  (value: unknown, place: string): T;
  /** The same as a JSON Schema. */
  readonly schema: JsonSchema;
  /** The field may be missing. */
  readonly isOptional?: boolean;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

function shapeOf<T>(
  schema: JsonSchema,
  parse: (value: unknown, place: string) => T,
  isOptional = false,
): Shape<T> {
  return Object.assign(parse, { schema, isOptional });
}

/** The shape of an object `T`, field by field. Unknown fields are dropped. */
export function object<T extends object>(fields: {
  readonly [K in keyof T]-?: Shape<T[K]>;
}): Shape<T> {
  const shapes = Object.entries<Shape<unknown>>(fields);
  const schema = {
    type: 'object',
    properties: Object.fromEntries(shapes.map(([key, shape]) => [key, shape.schema])),
    required: shapes.flatMap(([key, shape]) => (shape.isOptional === true ? [] : [key])),
  };
  return shapeOf(schema, (value, place) => {
    const source = asObject(value, place);
    const entries = shapes.map(([key, shape]) => [key, shape(source[key], join(place, key))]);
    // Each field has passed the shape that the parameter requires for it.
    return Object.fromEntries(entries) as T;
  });
}

/** An object used as a table: any keys, each value of one shape. */
export function table<T>(shape: Shape<T>): Shape<Readonly<Record<string, T>>> {
  const schema = { type: 'object', additionalProperties: shape.schema };
  return shapeOf(schema, (value, place) => {
    const entries = Object.entries(asObject(value, place));
    return Object.fromEntries(entries.map(([key, item]) => [key, shape(item, join(place, key))]));
  });
}

export function list<T>(shape: Shape<T>): Shape<readonly T[]> {
  return shapeOf({ type: 'array', items: shape.schema }, (value, place) => {
    if (!Array.isArray(value)) throw mismatch(place, 'a list', value);
    return value.map((item, index) => shape(item, `${place}[${index}]`));
  });
}

export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return shapeOf(orNull(shape), (value, place) => (value === null ? null : shape(value, place)));
}

/** A field that records of earlier versions do not have; there it is null. */
export function addedLater<T>(shape: Shape<T>): Shape<T | null> {
  const parse = (value: unknown, place: string): T | null =>
    value === undefined || value === null ? null : shape(value, place);
  return shapeOf(orNull(shape), parse, true);
}

function orNull({ schema }: Shape<unknown>): JsonSchema {
  return { anyOf: [schema, { type: 'null' }] };
}

/** The first of the two shapes that fits; if neither does, the error is that of the second. */
export function either<T, U>(first: Shape<T>, second: Shape<U>): Shape<T | U> {
  return shapeOf({ anyOf: [first.schema, second.schema] }, (value, place) => {
    try {
      return first(value, place);
    } catch {
      return second(value, place);
    }
  });
}

export function oneOf<const T extends string | number>(...words: readonly T[]): Shape<T> {
  return shapeOf({ enum: words }, (value, place) => {
    const found = words.find((word) => word === value);
    if (found === undefined) throw mismatch(place, words.join(' or '), value);
    return found;
  });
}

export const aString: Shape<string> = shapeOf({ type: 'string' }, (value, place) => {
  if (typeof value !== 'string') throw mismatch(place, 'a text', value);
  return value;
});

const FILE_NAME = /^(?:[\w-]+\/)?\w[\w.+-]*$/;

/** A file of the run, by its path in the folder: a record must not reach outside of it. */
export const aFileName: Shape<string> = shapeOf(
  { type: 'string', pattern: FILE_NAME.source },
  (value, place) => {
    const isName = typeof value === 'string' && FILE_NAME.test(value);
    if (!isName) throw mismatch(place, 'the name of a file in the folder', value);
    return value;
  },
);

/**
 * JSON has no infinity and no NaN: these have become null, and are refused here, as is `1e999`,
 * which `JSON.parse` reads as infinity.
 */
export const aNumber: Shape<number> = shapeOf({ type: 'number' }, (value, place) => {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw mismatch(place, 'a number', value);
});

/** What cannot be less than nothing: a count, a rate, a time. */
export const anAmount: Shape<number> = shapeOf({ type: 'number', minimum: 0 }, (value, place) => {
  const amount = aNumber(value, place);
  if (amount < 0) throw mismatch(place, 'a number of at least 0', value);
  return amount;
});

export const aBoolean: Shape<boolean> = shapeOf({ type: 'boolean' }, (value, place) => {
  if (typeof value !== 'boolean') throw mismatch(place, 'true or false', value);
  return value;
});

function asObject(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw mismatch(place, 'an object', value);
  }
  return value as Record<string, unknown>;
}

function join(place: string, key: string): string {
  return place === '' ? key : `${place}.${key}`;
}

function mismatch(place: string, expected: string, value: unknown): Error {
  const found = value === undefined ? 'missing' : (JSON.stringify(value) ?? typeof value);
  const shown = found.length > 60 ? `${found.slice(0, 57)}...` : found;
  return new Error(`${place === '' ? 'the record' : place} must be ${expected}, but is ${shown}`);
}
