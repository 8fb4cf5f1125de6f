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
import { errorOf, HBaseFailure, mayRepeat } from './failures.ts';
import {
  messageOf,
  type RegionInfo,
  type RegionSpecifier,
  type Result,
  type ScanRequest,
  type ScanResponse,
  type ServerName,
  type StoredCell,
} from './messages.ts';
import type { Master } from './master.ts';
import { addressOf, type Seeds } from './seeds.ts';
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
    const regions = await this.of(table);
    let low = 0;
    for (let high = regions.length; high - low > 1;) {
      const middle = (low + high) >>> 1;
      if (Buffer.compare((regions[middle] as Region).start, row) <= 0) low = middle;
      else high = middle;
    }
    const region = regions[low];
    const isInside =
      region !== undefined &&
      Buffer.compare(region.start, row) <= 0 &&
      (region.end.length === 0 || Buffer.compare(row, region.end) < 0);
    if (isInside) return region;
    this.forget(table);
    // A region that is being split or moved is missing for a moment.
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
