/**
 * Where the regions of each table are, as this process last read it in `hbase:meta`.
 *
 *     seed ──▶ which server has hbase:meta? ──▶ the rows of the table there ──▶ kept
 *
 * ZooKeeper is not asked: masters and region servers alike know the server of `hbase:meta`. What is
 * kept may be out of date; a server that no longer has a region says so, and the table's regions
 * are read again. What `hbase:meta` says may be out of date as well, if its server stood still: a
 * table without regions there is missing only if the master says so, too.
 */
import { type Clock, PercolatorError } from '../../base/index.ts';
import { errorOf, HBaseFailure, isNoServer, mayRepeat } from './failures.ts';
import {
  type Codec,
  messageOf,
  type RegionInfo,
  type RegionSpecifier,
  type Result,
  type ScanRequest,
  type ScanResponse,
  type ServerName,
  type StoredCell,
  type TableName,
  type TableSchemaMessage,
} from './messages.ts';
import type { Servers } from './servers.ts';

export interface Region {
  readonly specifier: RegionSpecifier;
  readonly start: Buffer;
  /** Empty: the end of the table. */
  readonly end: Buffer;
  /** `host:port` of its server. */
  readonly address: string;
}

const REGION_NAME = 1;
const META: RegionSpecifier = { type: REGION_NAME, value: Buffer.from('hbase:meta,,1') };
const META_FAMILY = Buffer.from('info');
const PROTOBUF_MAGIC_BYTES = 4;
const META_ROWS_PER_CALL = 1000;
const TRY_MS = 3000;

export interface RegionsOptions {
  readonly servers: Servers;
  readonly clock: Clock;
  readonly seeds: Seeds;
  readonly master: Master;
  readonly namespace: string;
}

export class Regions {
  readonly #options: RegionsOptions;
  readonly #tables = new Map<string, Promise<readonly Region[]>>();
  #metaAddress: Promise<string> | undefined;

  constructor(options: RegionsOptions) {
    this.#options = options;
  }

  /** @throws TABLE_NOT_FOUND, STORE_UNAVAILABLE */
  of(table: string): Promise<readonly Region[]> {
    let regions = this.#tables.get(table);
    if (regions === undefined) {
      regions = this.#load(table);
      this.#tables.set(table, regions);
      regions.catch(() => this.forget(table, regions));
    }
    return regions;
  }

  /** The region that has this row. */
  async find(table: string, row: Buffer): Promise<Region> {
    const region = lastOf(await this.of(table), ({ start }) => Buffer.compare(start, row) <= 0);
    const isInside =
      region !== undefined && (region.end.length === 0 || Buffer.compare(row, region.end) < 0);
    return isInside ? region : this.#missing(table);
  }

  /** The region that has the rows just before this one; an empty row: those that end the table. */
  async findBefore(table: string, row: Buffer): Promise<Region> {
    const isEnd = row.length === 0;
    const isBefore = ({ start }: Region): boolean => isEnd || Buffer.compare(start, row) < 0;
    const region = lastOf(await this.of(table), isBefore);
    const reaches =
      region !== undefined &&
      (region.end.length === 0 || (!isEnd && Buffer.compare(row, region.end) <= 0));
    return reaches ? region : this.#missing(table);
  }

  /** A region that is being split or moved is missing for a moment. */
  #missing(table: string): never {
    this.forget(table);
    throw new HBaseFailure('unsent', `no region of table ${table} has the row`);
  }

  /** @param known forgets only these, not what was loaded since */
  forget(table: string, known?: Promise<readonly Region[]>): void {
    if (known === undefined || this.#tables.get(table) === known) this.#tables.delete(table);
  }

  async #load(table: string): Promise<readonly Region[]> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + 3 * TRY_MS;
    for (;;) {
      try {
        return await this.#read(table);
      } catch (error) {
        this.#metaAddress = undefined;
        const isOver = clock.monotonicMs() > endMs;
        if (isOver || !mayRepeat(error, 'read')) throw errorOf(error, 'read', `finding ${table}`);
        await clock.sleep(100);
      }
    }
  }

  async #read(table: string): Promise<readonly Region[]> {
    const { servers, namespace } = this.#options;
    this.#metaAddress ??= this.#findMeta();
    const address = await this.#metaAddress;
    const connection = servers.connection(address, 'ClientService');
    const name = namespace === 'default' ? table : `${namespace}:${table}`;
    const regions: Region[] = [];
    let isListed = false;
    let startRow = Buffer.from(`${name},,`);
    for (;;) {
      const scan = {
        startRow,
        // As HBase writes it: `hbase:meta` compares the names of tables before all else.
        stopRow: Buffer.from(`${name} ,,`),
        column: [{ family: META_FAMILY, qualifier: [] }],
        maxVersions: 1,
        cfTimeRange: [],
      };
      const value: ScanRequest = {
        region: META,
        scan,
        numberOfRows: META_ROWS_PER_CALL,
        limitOfRows: META_ROWS_PER_CALL,
        closeScanner: true,
      };
      const { results, moreResultsInRegion } = await connection.call(
        'Scan',
        {
          type: messageOf('ScanRequest'),
          value,
          response: messageOf<ScanResponse>('ScanResponse'),
        },
        TRY_MS,
      );
      regions.push(...results.flatMap(regionsOf));
      isListed ||= results.length > 0;
      const last = results.at(-1)?.cell[0];
      if (last === undefined || moreResultsInRegion !== true) break;
      startRow = Buffer.concat([last.row, Buffer.alloc(1)]);
    }
    if (regions.length > 0) return regions;
    // A table that is being created is listed before any server has its regions.
    if (isListed || (await this.#options.master.describe(table)) !== undefined) {
      throw new HBaseFailure('unsent', `no server has a region of table ${table}`);
    }
    throw new PercolatorError('TABLE_NOT_FOUND', `there is no table ${table}`);
  }

  async #findMeta(): Promise<string> {
    const response = messageOf<{ readonly metaLocations: readonly { serverName?: ServerName }[] }>(
      'GetMetaRegionLocationsResponse',
    );
    const { metaLocations } = await this.#options.seeds.ask('GetMetaRegionLocations', response);
    const server = metaLocations[0]?.serverName;
    if (server) return addressOf(server);
    throw new HBaseFailure('unsent', 'no server has hbase:meta');
  }
}

/** The last region for which it holds; it holds for all before that one. */
function lastOf(
  regions: readonly Region[],
  holds: (region: Region) => boolean,
): Region | undefined {
  let low = 0;
  for (let high = regions.length; low < high;) {
    const middle = (low + high) >>> 1;
    if (holds(regions[middle] as Region)) low = middle + 1;
    else high = middle;
  }
  return regions[low - 1];
}

/** None for a region that was split, is offline, is a replica, or that no server has. */
function regionsOf({ cell }: Result): readonly Region[] {
  const info = valueOf(cell, 'regioninfo');
  const server = valueOf(cell, 'server');
  if (info === undefined || server === undefined || server.length === 0) return [];
  const decoded = messageOf<RegionInfo>('RegionInfo').decode(info.subarray(PROTOBUF_MAGIC_BYTES));
  const { startKey = [], endKey = [], offline, split, replicaId } = decoded;
  if (offline === true || split === true || (replicaId ?? 0) !== 0) return [];
  const value = Buffer.from(cell[0]?.row ?? []);
  return [
    {
      specifier: { type: REGION_NAME, value },
      start: Buffer.from(startKey),
      end: Buffer.from(endKey),
      address: Buffer.from(server).toString(),
    },
  ];
}

function valueOf(cells: readonly StoredCell[], qualifier: string): Uint8Array | undefined {
  return cells.find((cell) => Buffer.from(cell.qualifier).toString() === qualifier)?.value;
}

/* The active master: it makes and drops tables, and says which there are. */

const MASTER_TRY_MS = 20_000;
/** A master that takes over needs a moment. */
const PATIENCE_MS = 30_000;

export interface MasterOptions {
  readonly servers: Servers;
  readonly seeds: Seeds;
  readonly clock: Clock;
  readonly namespace: string;
}

export class Master {
  readonly #options: MasterOptions;
  #address: Promise<string> | undefined;

  constructor(options: MasterOptions) {
    this.#options = options;
  }

  /** The table's families and attributes; undefined if there is no such table. */
  async describe(table: string): Promise<TableSchemaMessage | undefined> {
    if (!canBeNamed(table)) return undefined;
    const response = messageOf<{ readonly tableSchema: readonly TableSchemaMessage[] }>(
      'GetTableDescriptorsResponse',
    );
    const request = { tableNames: [this.nameOf(table)] };
    const { tableSchema } = await this.ask('GetTableDescriptors', request, response);
    return tableSchema[0];
  }

  /**
   * Asks the active master. If the failure is transient, looks for the active master again and
   * repeats the call, unless it may already have made or dropped a table.
   * @throws HBaseFailure, PercolatorError
   */
  async ask<Response>(method: string, value: object, response: Codec<Response>): Promise<Response> {
    const { servers, clock } = this.#options;
    const type = messageOf(`${method.replace(/^g/, 'G')}Request`);
    const endMs = clock.monotonicMs() + PATIENCE_MS;
    for (;;) {
      try {
        this.#address ??= this.#find();
        const connection = servers.connection(await this.#address, 'MasterService');
        return await connection.call(method, { type, value, response }, MASTER_TRY_MS);
      } catch (error) {
        this.#address = undefined;
        // A call that makes or drops a table would meet its own effect if it were repeated.
        const purpose = isLook(method) ? 'read' : 'conditional';
        const isPassing = mayRepeat(error, purpose) && clock.monotonicMs() < endMs;
        if (!isPassing) throw error;
        await clock.sleep(100);
      }
    }
  }

  nameOf(table: string): TableName {
    return { namespace: Buffer.from(this.#options.namespace), qualifier: Buffer.from(table) };
  }

  async #find(): Promise<string> {
    const response = messageOf<{ readonly serverName?: ServerName | null }>(
      'GetActiveMasterResponse',
    );
    const { serverName } = await this.#options.seeds.ask('GetActiveMaster', response);
    if (serverName) return addressOf(serverName);
    throw new HBaseFailure('unsent', 'no master is active');
  }
}

/**
 * Whether HBase can have a table of that name. If not, the master fails as if for a passing reason.
 */
export function canBeNamed(table: string): boolean {
  return /^[_\p{L}\p{N}][-_.\p{L}\p{N}]*$/u.test(table) && table !== 'zookeeper';
}

/** Whether the call changes nothing. */
function isLook(method: string): boolean {
  return /^get/i.test(method);
}

/* The servers that a user names: any of them knows where the master and `hbase:meta` are. */

export class Seeds {
  readonly #servers: Servers;
  readonly #addresses: readonly string[];

  /** @param addresses `host:port` of masters or region servers, at least one */
  constructor(servers: Servers, addresses: readonly string[]) {
    this.#servers = servers;
    this.#addresses = addresses;
  }

  /**
   * Asks one after the other, until one answers.
   * @throws the failure of the one that is most likely to answer later if none does; at once what
   *   no other server would mend, such as a certificate that is not trusted
   */
  async ask<Response>(method: string, response: Codec<Response>): Promise<Response> {
    const message = { type: messageOf(`${method}Request`), value: {}, response };
    let failure: unknown;
    for (const address of this.#addresses) {
      try {
        const connection = this.#servers.connection(address, 'ClientMetaService');
        return await connection.call(method, message, TRY_MS);
      } catch (error) {
        if (error instanceof PercolatorError) throw error;
        if (failure === undefined || isNoServer(failure)) failure = error;
      }
    }
    throw failure;
  }
}

function addressOf({ hostName, port = 0 }: ServerName): string {
  return hostName.includes(':') ? `[${hostName}]:${port}` : `${hostName}:${port}`;
}
