/**
 * Tables of a Bigtable instance.
 *
 * Bigtable can delete old versions on its own, by rules of each family (GC rules). They ignore
 * snapshots: a write record could lose its data, a lock could vanish (P32, P34). So a table with
 * such a rule is refused.
 */
import type { protos } from '@google-cloud/bigtable-api';
import { PercolatorError } from '../../base/index.ts';
import type { TableSchema } from '../bigtable.ts';
import { StoreTables } from '../checked-store.ts';
import type { TableAdmin } from './data-calls.ts';
import { Code, errorOf, failureOf, type Patience, type Purpose, retrying } from './failures.ts';

type Table = protos.google.bigtable.admin.v2.ITable;

/** Cloud Bigtable takes seconds to create a table. */
const ADMIN_MS_MAX = 60_000;

/** For calls that `retrying` repeats: the client's own pauses between tries last up to a minute. */
const NO_RETRY = { retry: null } as const;

interface RemoteTablesOptions extends Patience {
  /** `projects/<project>/instances/<instance>` */
  readonly instance: string;
}

export class RemoteTables extends StoreTables {
  readonly #admin: TableAdmin;
  readonly #instance: string;
  /** The deadline of what does not change a table. */
  readonly #patience: Patience;

  constructor(admin: TableAdmin, { instance, ...patience }: RemoteTablesOptions) {
    super();
    this.#admin = admin;
    this.#instance = instance;
    this.#patience = patience;
  }

  async create(table: string, schema: TableSchema): Promise<void> {
    // Look for it first: a user who may not create tables may use existing ones.
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
    let pageToken: string | null | undefined;
    do {
      const [tables, next] = await this.#listPage(pageToken);
      for (const { name } of tables) names.push((name ?? '').split('/').at(-1) ?? '');
      pageToken = next?.pageToken;
    } while (pageToken);
    return names;
  }

  #listPage(pageToken: string | null | undefined) {
    const wanted = { doing: 'listing tables', permission: 'bigtable.tables.list' };
    const request = { parent: this.#instance, ...(pageToken ? { pageToken } : {}) };
    return retrying(
      this.#patience,
      (error) => adminError(error, 'read', wanted),
      (timeout) => this.#admin.listTables(request, { timeout, autoPaginate: false, ...NO_RETRY }),
    );
  }

  async drop(table: string): Promise<void> {
    this.forget(table);
    try {
      await this.#admin.deleteTable({ name: this.#nameOf(table) }, { timeout: ADMIN_MS_MAX });
    } catch (error) {
      if (failureOf(error).code === Code.notFound) return;
      throw adminError(error, 'mutation', {
        doing: `dropping table ${table}`,
        permission: 'bigtable.tables.delete',
      });
    }
  }

  protected async askFamilies(table: string): Promise<ReadonlySet<string> | undefined> {
    const found = await this.#describe(table);
    if (found === undefined) return undefined;
    refuseRules(table, found);
    return new Set(Object.keys(found.columnFamilies ?? {}));
  }

  /** Undefined if there is no such table. */
  async #describe(table: string): Promise<Table | undefined> {
    const request = { name: this.#nameOf(table), view: 'SCHEMA_VIEW' } as const;
    const wanted = { doing: `looking at table ${table}`, permission: 'bigtable.tables.get' };
    return retrying(
      this.#patience,
      (error) => adminError(error, 'read', wanted),
      async (timeout) => {
        try {
          return (await this.#admin.getTable(request, { timeout, ...NO_RETRY }))[0];
        } catch (error) {
          if (failureOf(error).code === Code.notFound) return undefined;
          throw error;
        }
      },
    );
  }

  /** False if another process was faster. */
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
      throw adminError(error, 'mutation', {
        doing: `table ${table} is missing, and making it`,
        permission: 'bigtable.tables.create',
      });
    }
    this.remember(table, new Set(families));
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

/** Names the missing permission: without it the store cannot be used at all. */
export function adminError(
  error: unknown,
  purpose: Purpose,
  { doing, permission }: { readonly doing: string; readonly permission: string },
): PercolatorError {
  const { code, details } = failureOf(error);
  if (code !== Code.permissionDenied) return errorOf(error, purpose, doing);
  return new PercolatorError(
    'STORE_REFUSED',
    `${doing} is denied: the credentials lack ${permission}, which the role roles/bigtable.admin has (${details})`,
    { cause: error },
  );
}
