/** What a region server of the simulated HBase answers: batches, single mutations, scans. */
import {
  type Action,
  type Condition,
  type MultiResponse,
  type MutationProto,
  messageOf,
  numberOf,
  type RegionSpecifier,
  type ResultOrException,
  type ScanRequest,
  type Selection,
  type StoredCell,
} from '../../bigtable/hbase/messages.ts';
import { compareUtf8 } from '../memory-table.ts';
import { type ServerAnswer, answered, JavaException, requestOf } from './answers.ts';
import { metaRow } from './master-service.ts';
import type {
  OpenScan,
  StoredRows,
  SimulatedHBase,
  SimulatedRegion,
  SimulatedServer,
} from './simulated-hbase.ts';
import { EMPTY_ROW, holds, type RowCell, selected, text } from './stored-row.ts';

/** A region as a server has it: the rows, or their content when the server's session ended. */
interface Held {
  readonly region: SimulatedRegion;
  readonly rows: StoredRows;
  readonly isFrozen: boolean;
}

type ServiceCall = NonNullable<Action['serviceCall']>;

interface MultiRequest {
  readonly regionAction: readonly {
    readonly region: RegionSpecifier;
    readonly atomic?: boolean;
    readonly action: readonly Action[];
  }[];
}

export class RegionService {
  readonly #hbase: SimulatedHBase;
  readonly #server: SimulatedServer;

  constructor(hbase: SimulatedHBase, server: SimulatedServer) {
    this.#hbase = hbase;
    this.#server = server;
  }

  /** @throws JavaException */
  answer(method: string, parameter: Uint8Array): ServerAnswer {
    switch (method) {
      case 'Multi':
        return answered('MultiResponse', this.#multi(requestOf(method, parameter)));
      case 'Mutate': {
        const { region, mutation } = requestOf<{
          readonly region: RegionSpecifier;
          readonly mutation: MutationProto;
        }>(method, parameter);
        this.#apply(this.#find(region), [mutation]);
        return answered('MutateResponse', { processed: true });
      }
      case 'Scan':
        return answered('ScanResponse', this.#scan(requestOf(method, parameter)));
      default:
        throw new JavaException('DoNotRetryIOException', `no method ${method}`);
    }
  }

  #find({ value }: RegionSpecifier): Held {
    const name = text(value);
    if (this.#server.state === 'expired') {
      const frozen = this.#server.frozen?.get(name);
      if (frozen !== undefined) return { ...frozen, isFrozen: true };
    } else {
      const region = this.#hbase.regionsOf().find((one) => one.name === name);
      const table = this.#hbase.tables.get(region?.table ?? '');
      const isHere = region?.server === this.#server && (table?.isEnabled ?? true);
      if (isHere) return { region, rows: table?.rows ?? new Map(), isFrozen: false };
    }
    throw new JavaException(
      'NotServingRegionException',
      `${name} is not online on ${this.#server.address}`,
    );
  }

  /** Serves one region after the other and, in each, one action after the other. */
  #multi({ regionAction }: MultiRequest): MultiResponse {
    return {
      regionActionResult: regionAction.map(({ region, atomic, action }) => {
        try {
          const held = this.#find(region);
          if (atomic === true) return { resultOrException: this.#atomic(held, action) };
          const results = action.map((one, index) =>
            this.#act(region, held.region, { ...one, index }),
          );
          // They may come in any order: HBase answers mutations after reads.
          return { resultOrException: results.toReversed() };
        } catch (error) {
          if (!(error instanceof JavaException)) throw error;
          return { resultOrException: [], exception: error.asNamedBytes };
        }
      }),
    };
  }

  #atomic(held: Held, actions: readonly Action[]): readonly ResultOrException[] {
    this.#apply(
      held,
      actions.map(({ mutation }) => mutation as MutationProto),
    );
    return actions.map((_, index) => ({ index }));
  }

  #act(specifier: RegionSpecifier, region: SimulatedRegion, action: Action): ResultOrException {
    const { index = 0, get, mutation, serviceCall } = action;
    try {
      this.#hbase.options.beforeAction?.(region);
      const held = this.#find(specifier); // Perhaps it is gone by now.
      if (get) return { index, result: { cell: this.#get(held, text(get.row), get) } };
      if (mutation) this.#apply(held, [mutation]);
      if (!serviceCall) return { index };
      const processed = this.#mutateRows(held, serviceCall);
      const value = messageOf('MutateRowsResponse').encode({ processed });
      return { index, serviceResult: { value: { name: 'MutateRowsResponse', value } } };
    } catch (error) {
      if (!(error instanceof JavaException)) throw error;
      return { index, exception: error.asNamedBytes };
    }
  }

  #get({ region, rows }: Held, row: string, selection: Selection): readonly StoredCell[] {
    this.#checkRow(region, row);
    return encoded(row, selected(rows.get(row) ?? EMPTY_ROW, selection));
  }

  /**
   * The endpoint: nothing is written to the log if a condition does not hold, or there is nothing
   * to write.
   */
  #mutateRows(held: Held, { row: key, request }: ServiceCall): boolean {
    const { mutationRequest, condition } = messageOf<{
      readonly mutationRequest: readonly MutationProto[];
      readonly condition: readonly Condition[];
    }>('MutateRowsRequest').decode(request);
    const row = text(key);
    this.#checkRow(held.region, row);
    if (!condition.every((one) => holds(held.rows.get(row) ?? EMPTY_ROW, one))) return false;
    if (mutationRequest.length > 0) this.#apply(held, mutationRequest);
    return true;
  }

  #apply({ region, isFrozen }: Held, mutations: readonly MutationProto[]): void {
    const row = text(mutations[0]?.row ?? new Uint8Array());
    this.#checkRow(region, row);
    this.#checkFamilies(region, mutations);
    if (isFrozen) throw new JavaException('IOException', 'the log was closed by another process');
    this.#hbase.apply(region.table, row, mutations);
  }

  #checkRow({ name, start, end }: SimulatedRegion, row: string): void {
    if (compareUtf8(start, row) <= 0 && (end === '' || compareUtf8(row, end) < 0)) return;
    throw new JavaException('WrongRegionException', `row out of range for ${name}: ${row}`);
  }

  #checkFamilies({ table }: SimulatedRegion, mutations: readonly MutationProto[]): void {
    const families = this.#hbase.tables
      .get(table)
      ?.schema.columnFamilies.map(({ name }) => text(name));
    for (const family of mutations.flatMap(({ columnValue }) =>
      columnValue.map((one) => one.family),
    )) {
      if (families?.includes(text(family)) ?? true) continue;
      throw new JavaException('NoSuchColumnFamilyException', `no family ${text(family)}`);
    }
  }

  #scan(request: ScanRequest): object {
    const openId = numberOf(request.scannerId ?? 0);
    if (openId > 0) return this.#scanOn(openId, request);
    const { region: specifier, scan } = request as Required<ScanRequest>;
    const held = this.#find(specifier);
    const stop = text(scan.stopRow ?? new Uint8Array());
    if (held.region === this.#hbase.meta || held.region.table === this.#hbase.meta.table) {
      return this.#scanMeta(text(scan.startRow), stop);
    }
    const open = { region: held.region.name, scan, last: undefined, nextCall: 0 };
    const page = this.#page(held, open, request.numberOfRows);
    const isLimited = page.results.length >= (request.limitOfRows || Infinity);
    const answer = { ...page, moreResults: !isLimited };
    if (isLimited || !page.moreResultsInRegion || request.closeScanner === true) return answer;
    const scannerId = this.#hbase.nextId();
    this.#server.scans.set(scannerId, open);
    return { ...answer, scannerId };
  }

  #scanOn(scannerId: number, { numberOfRows, limitOfRows, nextCallSeq }: ScanRequest): object {
    const open = this.#server.scans.get(scannerId);
    if (open === undefined) throw new JavaException('UnknownScannerException', String(scannerId));
    const held = this.#find({ type: 1, value: Buffer.from(open.region) });
    if (numberOf(nextCallSeq ?? -1) !== open.nextCall++) {
      throw new JavaException('OutOfOrderScannerNextException', String(nextCallSeq));
    }
    const page = this.#page(held, open, numberOfRows);
    const isLimited = page.results.length >= (limitOfRows || Infinity);
    const answer = { ...page, moreResults: !isLimited };
    if (!isLimited && page.moreResultsInRegion) return { ...answer, scannerId };
    this.#server.scans.delete(scannerId);
    return answer;
  }

  #page(
    { region, rows }: Held,
    open: OpenScan,
    wanted: number,
  ): { readonly results: readonly object[]; readonly moreResultsInRegion: boolean } {
    const most = Math.min(wanted, this.#hbase.options.rowsPerAnswer ?? Infinity);
    const results: object[] = [];
    for (const key of keysOf(open, region, [...rows.keys()])) {
      const cells = selected(rows.get(key) ?? EMPTY_ROW, open.scan);
      if (cells.length === 0) continue;
      if (results.length === most) return { results, moreResultsInRegion: true };
      results.push({ cell: encoded(key, cells) });
      open.last = key;
    }
    return { results, moreResultsInRegion: false };
  }

  #scanMeta(start: string, stop: string): object {
    const regions = this.#server.frozenMeta ?? this.#hbase.regions;
    const rows = regions
      .filter(({ name }) => compareInMeta(name, start) >= 0 && compareInMeta(name, stop) < 0)
      .map(metaRow);
    return { results: rows, moreResults: true, moreResultsInRegion: false };
  }
}

/** The keys of the region that the scan has yet to come to, in its order. */
function keysOf(
  { scan, last }: OpenScan,
  region: SimulatedRegion,
  keys: readonly string[],
): readonly string[] {
  const { reversed = false, includeStartRow = true, includeStopRow = false } = scan;
  const order = reversed ? (a: string, b: string) => compareUtf8(b, a) : compareUtf8;
  const [start, stop] = [text(scan.startRow), text(scan.stopRow ?? new Uint8Array())];
  return keys
    .filter((key) => compareUtf8(key, region.start) >= 0)
    .filter((key) => region.end === '' || compareUtf8(key, region.end) < 0)
    .filter((key) => start === '' || order(key, start) >= (includeStartRow ? 0 : 1))
    .filter((key) => stop === '' || order(key, stop) <= (includeStopRow ? 0 : -1))
    .filter((key) => last === undefined || order(key, last) > 0)
    .toSorted(order);
}

/** `hbase:meta` has an order of its own: by table, first row, and number of the region. */
function compareInMeta(a: string, b: string): number {
  const [one, other] = [partsOf(a), partsOf(b)];
  const differing = one.map((part, i) => compareUtf8(part, other[i] ?? '')).find((by) => by !== 0);
  return differing ?? 0;
}

/** A first row may contain commas; the other two have none. */
function partsOf(name: string): readonly string[] {
  const [first, last] = [name.indexOf(','), name.lastIndexOf(',')];
  return [name.slice(0, first), name.slice(first + 1, last), name.slice(last + 1)];
}

function encoded(row: string, cells: readonly RowCell[]): readonly StoredCell[] {
  return cells.map(({ family, qualifier, timestamp, value }) => ({
    row: Buffer.from(row),
    family: Buffer.from(family),
    qualifier: Buffer.from(qualifier),
    timestamp,
    value,
  }));
}
