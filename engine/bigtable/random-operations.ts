/**
 * Random operations on two stores, whose answers are compared: the heart of the differential tests.
 *
 * Names are few and short, so that operations meet each other's cells. fast-check prints the seed
 * of a failure and shrinks its operations.
 */
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { PercolatorError } from '../base/index.ts';
import {
  TIMESTAMP_MAX,
  type Bigtable,
  type CellFilter,
  type ConditionalRowMutation,
  type Manifest,
  type Mutation,
  type Row,
  type RowMutation,
  type TableSchema,
} from './bigtable.ts';
import { INLINE_BYTES_MAX, PAGE_BYTES_MAX } from './embedded/page.ts';

export const TABLES: readonly ['t', 'u'] = ['t', 'u'];
export const SCHEMA: TableSchema = { families: ['data', 'lock'], splits: ['b', 'a'] };

type Limits = Partial<Pick<Manifest, 'tombstones' | 'checksColumns' | 'ordered'>>;

export type Operation =
  | { readonly kind: 'mutateRows'; readonly rows: readonly RowMutation[] }
  | { readonly kind: 'check'; readonly conditionals: readonly ConditionalRowMutation[] }
  | {
      readonly kind: 'readRows';
      readonly table: string;
      readonly rows: readonly string[];
      readonly filters: readonly CellFilter[];
    }
  | {
      readonly kind: 'readRange';
      readonly table: string;
      readonly start: string | undefined;
      readonly end: string | undefined;
      readonly limit: number;
      readonly reverse: boolean;
      readonly filters: readonly CellFilter[];
    }
  | { readonly kind: 'drop'; readonly table: string }
  | { readonly kind: 'create'; readonly table: string };

const table = fc.constantFrom(...TABLES);
const ROWS = ['a', 'a\0', 'a\0\u0001', 'aa', 'é', '\uFFFF', '\u{10000}'] as const;
const row = fc.constantFrom(...ROWS);
const family = fc.constantFrom('data', 'lock');
const qualifier = fc.constantFrom('', 'q', 'q\0', 'qq', '\uFFFF', '\u{10000}');
const timestamp = fc.oneof(
  { arbitrary: fc.nat(6), weight: 5 },
  fc.constantFrom(2 ** 32 - 1, 2 ** 32, TIMESTAMP_MAX),
);
const value = fc.oneof(
  { arbitrary: fc.uint8Array({ maxLength: 3 }), weight: 8 },
  // Around the sizes at which the embedded store keeps a value elsewhere.
  fc
    .constantFrom(INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1, PAGE_BYTES_MAX)
    .map((bytes) => new Uint8Array(bytes).fill(7)),
);

const set = fc.record({ kind: fc.constant('set' as const), family, qualifier, timestamp, value });
const erase = fc.tuple(family, qualifier, timestamp, timestamp);
const mutationOf = ({ tombstones = false }: Limits): fc.Arbitrary<Mutation> =>
  fc.oneof(
    { arbitrary: set, weight: 3 },
    erase.map(([of, column, a, b]) => ({
      kind: 'erase' as const,
      family: of,
      qualifier: column,
      from: tombstones ? (a % 2 === 0 ? 0 : b) : Math.min(a, b),
      to: tombstones ? b : Math.max(a, b),
    })),
  );

/** More versions of one column than a page of the embedded store holds. */
const manyVersions: fc.Arbitrary<RowMutation> = fc
  .record({ table, row, of: family, column: qualifier })
  .map(({ of, column, table: name, row: key }) => ({
    table: name,
    row: key,
    mutations: Array.from({ length: 120 }, (_, i) => ({
      kind: 'set' as const,
      family: of,
      qualifier: column,
      timestamp: i,
      value: Buffer.from([i]),
    })),
  }));

const someCells = {
  family,
  from: timestamp,
  to: timestamp,
  versions: fc.integer({ min: 1, max: 3 }),
};
const named = fc.record({ ...someCells, qualifier }, { requiredKeys: ['family', 'qualifier'] });
const filter: fc.Arbitrary<CellFilter> = fc.oneof(
  fc.record({ ...someCells, qualifier }, { requiredKeys: ['family'] }),
  fc.record(
    { ...someCells, suffix: fc.constantFrom('', 'a', '\0') },
    { requiredKeys: ['family', 'suffix'] },
  ),
);
const filters = fc.array(filter, { minLength: 1, maxLength: 3 });
type OfRow = Pick<RowMutation, 'table' | 'row'>;

/** Operations that a manifest with these limits does not exclude, each with one right answer. */
export function operationOf(limits: Limits): fc.Arbitrary<Operation> {
  const mutations = fc.array(mutationOf(limits), { minLength: 1, maxLength: 5 });
  const rowMutation = fc.record({ table, row, mutations });
  const checked = limits.checksColumns === true ? named : filter;
  const anyOf = fc.array(checked, { minLength: 1, maxLength: 3 });
  const conditional: fc.Arbitrary<ConditionalRowMutation> = fc.record(
    { table, row, anyOf, ifFound: mutations, ifNotFound: mutations },
    { requiredKeys: ['table', 'row', 'anyOf', 'ifNotFound'] },
  );
  // Where the rows of one call may be applied in any order, no row may come twice.
  const some = <T extends OfRow>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
    limits.ordered === false
      ? fc.uniqueArray(one, { maxLength: 4, selector: (given) => `${given.table} ${given.row}` })
      : fc.array(one, { maxLength: 4 });
  return fc.oneof(
    {
      arbitrary: fc.record({
        kind: fc.constant('mutateRows' as const),
        rows: some(fc.oneof({ arbitrary: rowMutation, weight: 2 }, manyVersions)),
      }),
      weight: 6,
    },
    {
      arbitrary: fc.record({
        kind: fc.constant('check' as const),
        conditionals: some(conditional),
      }),
      weight: 6,
    },
    {
      arbitrary: fc.record({
        kind: fc.constant('readRows' as const),
        table,
        rows: fc.array(row, { maxLength: 4 }),
        filters,
      }),
      weight: 4,
    },
    {
      arbitrary: fc.record({
        kind: fc.constant('readRange' as const),
        table,
        start: fc.option(row, { nil: undefined }),
        end: fc.option(row, { nil: undefined }),
        limit: fc.integer({ min: 1, max: 9 }),
        reverse: fc.boolean(),
        filters,
      }),
      weight: 4,
    },
    fc.record({ kind: fc.constantFrom('drop' as const, 'create' as const), table }),
  );
}

/**
 * The store's answer, with errors as codes and values as text, so that two answers can be compared.
 */
export async function answer(store: Bigtable, next: Operation): Promise<unknown> {
  try {
    return await perform(store, next);
  } catch (error) {
    return codeOf(error);
  }
}

async function perform(store: Bigtable, next: Operation): Promise<unknown> {
  switch (next.kind) {
    case 'mutateRows':
      return store.mutateRows(next.rows);
    case 'check': {
      const found = await store.checkAndMutateRows(next.conditionals);
      return found.map((one) => (one instanceof Error ? codeOf(one) : one));
    }
    case 'readRows':
      return (await store.readRows(next.table, next.rows, next.filters)).map(plain);
    case 'readRange':
      return (await store.readRange(next.table, next, next.filters)).map(plain);
    case 'create':
      return store.createTable(next.table, SCHEMA);
    case 'drop':
      return store.dropTable(next.table);
    default:
      return assert.fail('an operation has one of the kinds above');
  }
}

/** Reads the whole tables, by their rows and as a range. */
export function wholeTables(): Operation[] {
  const all = SCHEMA.families.map((of) => ({ family: of }));
  return TABLES.flatMap((name) => [
    { kind: 'readRows', table: name, rows: ROWS, filters: all },
    {
      kind: 'readRange',
      table: name,
      start: undefined,
      end: undefined,
      limit: 1000,
      reverse: false,
      filters: all,
    },
  ]);
}

function plain(found: Row | undefined): unknown {
  return (
    found && {
      key: found.key,
      cells: found.cells.map((cell) => [
        cell.family,
        cell.qualifier,
        cell.timestamp,
        Buffer.from(cell.value).toString('hex'),
      ]),
    }
  );
}

/** Only the store's own errors are answers; others are thrown. */
function codeOf(error: unknown): unknown {
  if (!(error instanceof PercolatorError)) throw error;
  return error.code;
}
