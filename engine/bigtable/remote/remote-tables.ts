/**
 * Tables of a Bigtable instance, and what is known here of their families.
 *
 * Bigtable says that a family is missing only when it comes to it, and the emulator sometimes not at all. So
 * the families of a table are asked for once, and every call is checked against them before it is sent.
 * If another process drops the table or makes it again, calls fail, and it is asked for anew.
 *
 * Bigtable can delete old versions by itself, by rules of each family (GC rules). They know nothing of snapshots:
 * a write record could lose its data, a lock could vanish (P32, P34). So a table with such a rule is refused.
 */
import type { protos } from '@google-cloud/bigtable-api';
import { PercolatorError } from '../../base/index.ts';
import type { TableSchema } from '../bigtable.ts';
import type { TableAdmin } from './client.ts';
import { errorOf, failureOf } from './failures.ts';
import { Code } from './http2/status.ts';

type Table = protos.google.bigtable.admin.v2.ITable;

/** Making a table takes Cloud Bigtable seconds. */
const ADMIN_MS_MAX = 60_000;

export class RemoteTables {
  readonly #admin: TableAdmin;
  /** `projects/<project>/instances/<instance>` */
  readonly #instance: string;
  readonly #families = new Map<string, ReadonlySet<string>>();

  constructor(admin: TableAdmin, instance: string) {
    this.#admin = admin;
    this.#instance = instance;
  }

  /** The table's families, if they are known. */
  known(table: string): ReadonlySet<string> | undefined {
    return this.#families.get(table);
  }

  /** What is known may be wrong: ask again. */
  forget(table: string): void {
    this.#families.delete(table);
  }

  /** @throws TABLE_NOT_FOUND, TABLE_MISMATCH if it has a GC rule, STORE_REFUSED */
  async load(table: string): Promise<ReadonlySet<string>> {
    const found = await this.#describe(table);
    if (found === undefined) {
      throw new PercolatorError('TABLE_NOT_FOUND', `there is no table ${table}`);
    }
    refuseRules(table, found);
    const families = new Set(Object.keys(found.columnFamilies ?? {}));
    this.#families.set(table, families);
    return families;
  }

  async create(table: string, schema: TableSchema): Promise<void> {
    // Looked for first: whoever may not create tables may use those that are there.
    const found = await this.#describe(table);
    if (found === undefined && (await this.#make(table, schema))) return;
    const families = await this.load(table);
    if (families.symmetricDifference(new Set(schema.families)).size === 0) return;
    throw new PercolatorError(
      'TABLE_MISMATCH',
      `table ${table} exists with the families ${[...families].join(', ')}, not ${schema.families.join(', ')}`,
    );
  }

  async list(): Promise<readonly string[]> {
    const names: string[] = [];
    try {
      const tables = this.#admin.listTablesAsync(
        { parent: this.#instance },
        { timeout: ADMIN_MS_MAX, autoPaginate: false }, // Page by page, as the loop asks for them.
      );
      for await (const { name } of tables) names.push((name ?? '').split('/').at(-1) ?? '');
    } catch (error) {
      throw adminError(error, { doing: 'listing tables', permission: 'bigtable.tables.list' });
    }
    return names;
  }

  async drop(table: string): Promise<void> {
    this.forget(table);
    try {
      await this.#admin.deleteTable({ name: this.#nameOf(table) }, { timeout: ADMIN_MS_MAX });
    } catch (error) {
      if (failureOf(error).code === Code.notFound) return;
      throw adminError(error, {
        doing: `dropping table ${table}`,
        permission: 'bigtable.tables.delete',
      });
    }
  }

  /** Undefined if there is none. */
  async #describe(table: string): Promise<Table | undefined> {
    try {
      const request = { name: this.#nameOf(table), view: 'SCHEMA_VIEW' } as const;
      const [found] = await this.#admin.getTable(request, { timeout: ADMIN_MS_MAX });
      return found;
    } catch (error) {
      if (failureOf(error).code === Code.notFound) return undefined;
      throw adminError(error, {
        doing: `looking at table ${table}`,
        permission: 'bigtable.tables.get',
      });
    }
  }

  /** False if somebody else was faster. */
  async #make(table: string, { families, splits = [] }: TableSchema): Promise<boolean> {
    try {
      await this.#admin.createTable(
        {
          parent: this.#instance,
          tableId: table,
          table: { columnFamilies: Object.fromEntries(families.map((family) => [family, {}])) },
          initialSplits: [...new Set(splits)].map((split) => ({ key: Buffer.from(split) })),
        },
        { timeout: ADMIN_MS_MAX },
      );
    } catch (error) {
      if (failureOf(error).code === Code.alreadyExists) return false;
      throw adminError(error, {
        doing: `table ${table} is missing, and making it`,
        permission: 'bigtable.tables.create',
      });
    }
    this.#families.set(table, new Set(families));
    return true;
  }

  #nameOf(table: string): string {
    return `${this.#instance}/tables/${table}`;
  }
}

function refuseRules(table: string, { columnFamilies }: Table): void {
  const ruled = Object.entries(columnFamilies ?? {}).filter(([, { gcRule }]) => hasRule(gcRule));
  if (ruled.length === 0) return;
  const [[family] = []] = ruled;
  throw new PercolatorError(
    'TABLE_MISMATCH',
    `table ${table} has a GC rule on ${ruled.map(([name]) => name).join(', ')}, by which Bigtable deletes versions ` +
      `that snapshots need; remove it: cbt setgcpolicy ${table} ${family} never`,
  );
}

function hasRule(rule: protos.google.bigtable.admin.v2.IGcRule | null | undefined): boolean {
  if (rule == null) return false;
  const { maxNumVersions, maxAge, intersection, union } = rule;
  return Boolean(maxNumVersions) || maxAge != null || intersection != null || union != null;
}

/** Administration says which permission is missing: without it the store cannot be used at all. */
export function adminError(
  error: unknown,
  { doing, permission }: { readonly doing: string; readonly permission: string },
): PercolatorError {
  const { code, details } = failureOf(error);
  if (code !== Code.permissionDenied) return errorOf(error, 'mutation', doing);
  return new PercolatorError(
    'STORE_REFUSED',
    `${doing} is denied: the credentials lack ${permission}, which the role roles/bigtable.admin has (${details})`,
    { cause: error },
  );
}
