/**
 * An HBase in memory: a master, region servers, and the table of the regions. It answers the
 * messages of the client as HBase does, byte for byte, and has no clock and no network of its own:
 * the caller brings messages to it and says what happens to it.
 *
 * The states of a region server:
 *
 *     serving     it answers requests from the rows
 *     expired     its session has ended while it stood still: its regions and its log are the
 *                 master's. It does not know that. It answers reads from the rows of that moment,
 *                 and mutations fail, until it notices and aborts
 *     down        its process has ended
 *
 * A region is on one server, or on its way to one. Meanwhile `hbase:meta` still names the server
 * that had the region; that server answers that it does not serve it.
 */
import type {
  MutationProto,
  ScanBounds,
  Selection,
  TableSchemaMessage,
} from '../../bigtable/hbase/messages.ts';
import { compareUtf8 } from '../memory-table.ts';
import { EMPTY_ROW, mutated, type StoredRow } from './stored-row.ts';

export type StoredRows = Map<string, StoredRow>;

export interface SimulatedTable {
  readonly name: string;
  readonly schema: TableSchemaMessage;
  readonly rows: StoredRows;
  isEnabled: boolean;
}

export interface SimulatedRegion {
  /** `table,start,id.` */
  readonly name: string;
  readonly id: number;
  readonly table: string;
  readonly start: string;
  /** Empty: the end of the table. */
  readonly end: string;
  /** What `hbase:meta` says. */
  location: string;
  /** Absent while it is on its way. */
  server: SimulatedServer | undefined;
}

/** A region as an expired server still has it. */
interface Frozen {
  readonly region: SimulatedRegion;
  readonly rows: StoredRows;
}

export interface SimulatedServer {
  /** `host:port` */
  readonly address: string;
  state: 'serving' | 'expired' | 'down';
  /** The scans that clients go on with. */
  readonly scans: Map<number, OpenScan>;
  frozen: ReadonlyMap<string, Frozen> | undefined;
  /** The regions of the cluster, as an expired server with `hbase:meta` has them. */
  frozenMeta: readonly SimulatedRegion[] | undefined;
}

export interface OpenScan {
  /** Its name. */
  readonly region: string;
  readonly scan: Selection & ScanBounds;
  /** The last row that was sent. */
  last: string | undefined;
  nextCall: number;
}

export interface SimulatedHBaseOptions {
  /** `host:port` of the master. */
  readonly master: string;
  readonly servers: readonly string[];
  /**
   * Called before each action of a batch that is applied on its own: a region may move there.
   * Default: nothing.
   */
  readonly beforeAction?: ((region: SimulatedRegion) => void) | undefined;
  /** Called for the mutations of a row that were applied in one step. */
  readonly onApplied?:
    | ((table: string, row: string, mutations: readonly MutationProto[]) => void)
    | undefined;
  readonly onTable?: ((table: SimulatedTable, isDropped: boolean) => void) | undefined;
  /** Most rows in one answer to a scan; it is then continued. Default: as many as asked for. */
  readonly rowsPerAnswer?: number | undefined;
}

const META = 'hbase:meta';

export class SimulatedHBase {
  readonly options: SimulatedHBaseOptions;
  readonly servers: readonly SimulatedServer[];
  readonly tables: Map<string, SimulatedTable> = new Map();
  /** In the order of their tables and first rows. */
  regions: readonly SimulatedRegion[] = [];
  readonly meta: SimulatedRegion;
  #ids = 1;

  constructor(options: SimulatedHBaseOptions) {
    this.options = options;
    this.servers = options.servers.map((address) => ({
      address,
      state: 'serving',
      scans: new Map(),
      frozen: undefined,
      frozenMeta: undefined,
    }));
    const [first] = this.servers;
    const location = first?.address ?? '';
    this.meta = {
      name: `${META},,1`,
      id: 1,
      table: META,
      start: '',
      end: '',
      location,
      server: first,
    };
  }

  nextId(): number {
    return this.#ids++;
  }

  server(address: string): SimulatedServer | undefined {
    return this.servers.find((one) => one.address === address);
  }

  /** The regions of a table, or all of them and that of `hbase:meta`. */
  regionsOf(table?: string): readonly SimulatedRegion[] {
    if (table === undefined) return [this.meta, ...this.regions];
    return this.regions.filter((region) => region.table === table);
  }

  createTable(name: string, schema: TableSchemaMessage, splits: readonly string[]): void {
    const table: SimulatedTable = { name, schema, rows: new Map(), isEnabled: true };
    this.tables.set(name, table);
    const starts = ['', ...splits];
    const serving = this.servers.filter(({ state }) => state === 'serving');
    this.#replace(
      [],
      starts.map((start, i) => {
        const server = serving[(this.#ids + i) % serving.length];
        return this.#newRegion({ table: name, start, end: starts[i + 1] ?? '' }, server);
      }),
    );
    this.options.onTable?.(table, false);
  }

  dropTable(name: string): void {
    const table = this.tables.get(name);
    this.tables.delete(name);
    this.#replace(this.regionsOf(name), []);
    if (table !== undefined) this.options.onTable?.(table, true);
  }

  /** The region leaves its server; it is `open`ed elsewhere later. */
  close(region: SimulatedRegion): void {
    region.server = undefined;
  }

  open(region: SimulatedRegion, server: SimulatedServer): void {
    region.server = server;
    region.location = server.address;
  }

  /** Puts two regions, on their way, in its place; returns none if it cannot be split there. */
  split(region: SimulatedRegion, at: string): readonly SimulatedRegion[] {
    const { table, start, end, location } = region;
    const isInside = compareUtf8(start, at) < 0 && (end === '' || compareUtf8(at, end) < 0);
    if (!isInside || !this.regions.includes(region)) return [];
    region.server = undefined;
    const daughters = [
      this.#newRegion({ table, start, end: at }, undefined, location),
      this.#newRegion({ table, start: at, end }, undefined, location),
    ];
    this.#replace([region], daughters);
    return daughters;
  }

  /** Puts one region, on its way, in the place of two; undefined if they are not neighbours. */
  merge(a: SimulatedRegion, b: SimulatedRegion): SimulatedRegion | undefined {
    const { table, start, location } = a;
    const areNeighbours = table === b.table && a.end === b.start && a.end !== '';
    if (!areNeighbours || !this.regions.includes(a) || !this.regions.includes(b)) return undefined;
    a.server = undefined;
    b.server = undefined;
    const merged = this.#newRegion({ table, start, end: b.end }, undefined, location);
    this.#replace([a, b], [merged]);
    return merged;
  }

  /**
   * The session of a server has ended, because the server stands still or its process has ended.
   * The master takes the server's log, and then its regions, which the caller opens elsewhere.
   * @returns the regions that are on their way
   */
  expire(server: SimulatedServer): readonly SimulatedRegion[] {
    const regions = this.regionsOf().filter((region) => region.server === server);
    const isStill = server.state === 'serving';
    server.frozen = isStill ? this.#frozen(regions) : undefined;
    server.frozenMeta =
      isStill && regions.includes(this.meta) ? this.regions.map(copyOf) : undefined;
    if (isStill) server.state = 'expired';
    for (const region of regions) region.server = undefined;
    return regions;
  }

  /** The process of a server ends. */
  end(server: SimulatedServer): void {
    server.state = 'down';
    server.frozen = undefined;
    server.frozenMeta = undefined;
    server.scans.clear();
  }

  /** A new process at the same address. */
  start(server: SimulatedServer): void {
    server.state = 'serving';
  }

  apply(table: string, row: string, mutations: readonly MutationProto[]): void {
    const { rows } = this.tables.get(table) as SimulatedTable;
    rows.set(row, mutations.reduce(mutated, rows.get(row) ?? EMPTY_ROW));
    this.options.onApplied?.(table, row, mutations);
  }

  #newRegion(
    { table, start, end }: Pick<SimulatedRegion, 'table' | 'start' | 'end'>,
    server: SimulatedServer | undefined,
    location = server?.address ?? '',
  ): SimulatedRegion {
    const id = this.nextId();
    return { name: `${table},${start},${id}.`, id, table, start, end, location, server };
  }

  #replace(old: readonly SimulatedRegion[], by: readonly SimulatedRegion[]): void {
    this.regions = [...this.regions.filter((region) => !old.includes(region)), ...by].toSorted(
      (a, b) => compareUtf8(a.table, b.table) || compareUtf8(a.start, b.start),
    );
  }

  #frozen(regions: readonly SimulatedRegion[]): ReadonlyMap<string, Frozen> {
    return new Map(
      regions.map((region) => [
        region.name,
        { region: copyOf(region), rows: new Map(this.tables.get(region.table)?.rows) },
      ]),
    );
  }
}

function copyOf(region: SimulatedRegion): SimulatedRegion {
  return { ...region };
}
