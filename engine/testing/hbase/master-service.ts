/** What the master of the simulated HBase answers, and what every server knows of the cluster. */
import {
  messageOf,
  type TableName,
  type TableSchemaMessage,
} from '../../bigtable/hbase/messages.ts';
import { type ServerAnswer, answered, JavaException, requestOf } from './answers.ts';
import type { SimulatedHBase, SimulatedRegion, SimulatedTable } from './simulated-hbase.ts';
import { text } from './stored-row.ts';

/** The only namespace. */
const NAMESPACE = 'default';
const RUNNING = 1;
const FINISHED = 2;

export class MasterService {
  readonly #hbase: SimulatedHBase;
  /** Procedures that are still running when first asked about; all others have finished by then. */
  readonly #running = new Set<number>();

  constructor(hbase: SimulatedHBase) {
    this.#hbase = hbase;
  }

  /** @throws JavaException */
  answer(method: string, parameter: Uint8Array): ServerAnswer {
    switch (method) {
      case 'GetTableNames': {
        const { namespace } = requestOf<{ namespace: string }>(method, parameter);
        checkNamespace(namespace);
        const tableNames = [...this.#hbase.tables.keys()].map(nameOf);
        return answered('GetTableNamesResponse', { tableNames });
      }
      case 'GetTableDescriptors': {
        const { tableNames } = requestOf<{ tableNames: TableName[] }>(method, parameter);
        tableNames.forEach(checkName);
        const found = tableNames.flatMap(
          ({ qualifier }) => this.#hbase.tables.get(text(qualifier)) ?? [],
        );
        const tableSchema = found.map(({ schema }) => schema);
        return answered('GetTableDescriptorsResponse', { tableSchema });
      }
      case 'CreateTable':
        return this.#create(requestOf(method, parameter));
      case 'DisableTable':
        this.#present(requestOf(method, parameter), true).isEnabled = false;
        return this.#started();
      case 'DeleteTable':
        this.#hbase.dropTable(this.#present(requestOf(method, parameter), false).name);
        return this.#started();
      case 'getProcedureResult': {
        const { procId } = requestOf<{ procId: number | { low: number } }>(method, parameter);
        const isRunning = this.#running.delete(typeof procId === 'number' ? procId : procId.low);
        return answered('GetProcedureResultResponse', { state: isRunning ? RUNNING : FINISHED });
      }
      default:
        throw new JavaException('DoNotRetryIOException', `no method ${method}`);
    }
  }

  #create({
    tableSchema,
    splitKeys,
  }: {
    readonly tableSchema: TableSchemaMessage;
    readonly splitKeys: readonly Uint8Array[];
  }): ServerAnswer {
    checkName(tableSchema.tableName);
    const name = text(tableSchema.tableName.qualifier);
    checkNamespace(text(tableSchema.tableName.namespace));
    if (this.#hbase.tables.has(name)) throw new JavaException('TableExistsException', name);
    this.#hbase.createTable(name, tableSchema, splitKeys.map(text));
    return this.#started();
  }

  #present({ tableName }: { readonly tableName: TableName }, isEnabled: boolean): SimulatedTable {
    checkName(tableName);
    const name = text(tableName.qualifier);
    const table = this.#hbase.tables.get(name);
    if (table === undefined) throw new JavaException('TableNotFoundException', name);
    if (table.isEnabled === isEnabled) return table;
    const why = isEnabled ? 'TableNotEnabledException' : 'TableNotDisabledException';
    throw new JavaException(why, name);
  }

  #started(): ServerAnswer {
    const procId = this.#hbase.nextId();
    if (procId % 8 === 0) this.#running.add(procId);
    return answered('ProcedureStarted', { procId });
  }
}

/** Where the master and `hbase:meta` are: masters and region servers alike answer this. */
export function registryAnswer(hbase: SimulatedHBase, method: string): ServerAnswer {
  if (method === 'GetActiveMaster') {
    return answered('GetActiveMasterResponse', { serverName: serverName(hbase.options.master) });
  }
  const { id, location } = hbase.meta;
  const tableName = { namespace: Buffer.from('hbase'), qualifier: Buffer.from('meta') };
  const regionInfo = { regionId: id, tableName };
  const metaLocations = [{ regionInfo, serverName: serverName(location) }];
  return answered('GetMetaRegionLocationsResponse', { metaLocations });
}

/** The row of a region in `hbase:meta`. */
export function metaRow({ name, id, table, start, end, location }: SimulatedRegion): object {
  const info = messageOf('RegionInfo').encode({
    regionId: id,
    tableName: nameOf(table),
    startKey: Buffer.from(start),
    endKey: Buffer.from(end),
  });
  const cell = (qualifier: string, value: Uint8Array): object => ({
    row: Buffer.from(name),
    family: Buffer.from('info'),
    qualifier: Buffer.from(qualifier),
    timestamp: 1,
    value,
  });
  const regioninfo = Buffer.concat([Buffer.from('PBUF'), info]);
  return { cell: [cell('regioninfo', regioninfo), cell('server', Buffer.from(location))] };
}

/** HBase turns each name into an object, and fails if that is impossible. */
function checkName({ qualifier }: TableName): void {
  const name = text(qualifier);
  if (/^[_\p{L}\p{N}][-_.\p{L}\p{N}]*$/u.test(name)) return;
  throw new JavaException('IOException', `Illegal table qualifiers: ${name}`);
}

function nameOf(table: string): TableName {
  return { namespace: Buffer.from(NAMESPACE), qualifier: Buffer.from(table) };
}

function serverName(address: string): object {
  const colon = address.lastIndexOf(':');
  return { hostName: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

function checkNamespace(namespace: string): void {
  if (namespace === NAMESPACE) return;
  throw new JavaException('NamespaceNotFoundException', namespace);
}
