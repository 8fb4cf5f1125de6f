/**
 * One process's connection to the simulated Bigtable: the storage contract over a bad network.
 *
 * Every row of a mutation is a message of its own, because nothing is promised across rows: the
 * rows of one `mutateRows` arrive in any order, and some of them perhaps never. A read is one
 * message, and so is an operation on a whole table.
 */
import { PercolatorError } from '../../../engine/base/index.ts';
import type { Bigtable, Manifest, Row, RowMutation } from '../../../engine/bigtable/index.ts';
import { LEASES_TABLE } from '../../../engine/leases/lease-table.ts';
import { describeFilters, describeMutations, describeRow } from '../world/describe.ts';
import type { MessageFault } from './knobs.ts';
import { Lane, type NetworkMessage, send } from './network.ts';
import type { SimulatedProcess } from './process.ts';
import { leasesOf } from './watched.ts';
import type { World } from './world.ts';

/** A copy of a read changes nothing, and a read is one message without parts. */
const READ_IMMUNITY: ReadonlySet<MessageFault> = new Set(['duplicate', 'replay', 'partial']);
/** On a connection that keeps order, a message is lost only with its group. */
const ORDERED_IMMUNITY: Set<MessageFault> = new Set(['loseRequest', 'late', 'partial']);
const SINGLE_IMMUNITY: ReadonlySet<MessageFault> = new Set(['partial']);
/** Splits that are out of date: two of them lie outside of the rows, and one between rows. */
const SPLITS_OF_YESTERDAY = ['0', 'dx', 'q'];
const NO_IMMUNITY: ReadonlySet<MessageFault> = new Set();
/** Copies and late arrivals of creations and drops of tables are not simulated. */
const TABLE_IMMUNITY: ReadonlySet<MessageFault> = new Set([
  'partial',
  'duplicate',
  'replay',
  'late',
]);

export class SimulatedBigtable implements Bigtable {
  readonly manifest: Manifest;
  readonly #world: World;
  readonly #process: SimulatedProcess;
  readonly #lane: Lane | undefined;

  constructor(world: World, process: SimulatedProcess) {
    this.#world = world;
    this.#process = process;
    this.#lane = world.knobs.ordered ? new Lane(world, process) : undefined;
    this.manifest = {
      name: 'simulated',
      conditionalBatch: world.knobs.conditionalBatch === true,
      checkBytesMax: world.knobs.checkBytesMax,
      ordered: world.knobs.ordered,
      splits: true,
      skipsOldRows: true,
      tombstones: world.knobs.tombstones,
      durability: 'nothing survives the run',
    };
  }

  readonly readRow: Bigtable['readRow'] = (table, row, filters) => {
    return this.#read(row, {
      request: { kind: 'read', table, row, filters },
      arrive: () => {
        this.#world.served(this.#process, filters);
        return this.#world.table(table).readRow(row, filters);
      },
      describe: (found) =>
        `reads ${table}/${row} (${describeFilters(filters)}): ${describeRow(found)}`,
    });
  };

  readonly readRows: Bigtable['readRows'] = (table, rows, filters) =>
    Promise.all(rows.map((row) => this.readRow(table, row, filters)));

  readonly readRange: Bigtable['readRange'] = (table, range, filters) => {
    const answer = this.#read(range.start ?? '', {
      request: { kind: 'range', table, range, filters },
      arrive: () => {
        this.#world.served(this.#process, filters);
        const rows = this.#world.table(table).readRange(range, filters);
        if (table === LEASES_TABLE) this.#watchLeases('leases served', rows);
        return rows;
      },
      describe: (rows) =>
        `scans ${table} from ${range.start ?? 'the first row'}: ${rows?.length ?? 0} rows`,
    });
    if (table !== LEASES_TABLE || this.#world.watch === undefined) return answer;
    const heard = (rows: readonly Row[]): void => {
      this.#watchLeases('leases heard', rows);
    };
    void answer.then(heard, () => {});
    return answer;
  };

  #watchLeases(kind: 'leases served' | 'leases heard', rows: readonly Row[]): void {
    const leases = leasesOf(rows);
    this.#world.watch?.({ kind, collector: this.#process.name, leases });
  }

  readonly checkAndMutateRow: Bigtable['checkAndMutateRow'] = (conditional) => {
    const { table, row } = conditional;
    return this.#mutate(row, SINGLE_IMMUNITY, {
      request: { kind: 'check', ...conditional },
      fate: 'inDoubt',
      arrive: () => {
        const found = this.#world.checkAndMutateRow(conditional);
        this.#applied(table, row, found ? conditional.ifFound : conditional.ifNotFound);
        this.#world.stir(found ? 1 : 2);
        return found;
      },
      describe: () =>
        `${table}/${row}: if ${describeFilters(conditional.anyOf)}` +
        ` then ${describeMutations(conditional.ifFound)}` +
        ` else ${describeMutations(conditional.ifNotFound)}`,
    });
  };

  readonly checkAndMutateRows: Bigtable['checkAndMutateRows'] = async (conditionals) =>
    Promise.all(
      conditionals.map((conditional) =>
        this.checkAndMutateRow(conditional).catch((error: unknown) => error as Error),
      ),
    );

  readonly mutateRows: Bigtable['mutateRows'] = async (rows) => {
    const immunity = rows.length > 1 ? NO_IMMUNITY : SINGLE_IMMUNITY;
    const answers = await Promise.allSettled(
      rows.map(({ table, row, mutations }) =>
        this.#mutate(row, immunity, {
          request: { kind: 'mutate', table, row, mutations },
          fate: 'sentAgain',
          arrive: () => {
            this.#world.clears(table, row, mutations);
            this.#world.table(table).mutateRow(row, mutations);
            this.#applied(table, row, mutations);
          },
          describe: () => `${table}/${row}: ${describeMutations(mutations)}`,
        }),
      ),
    );
    for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
  };

  readonly sampleRowKeys: Bigtable['sampleRowKeys'] = async (table) =>
    this.#read('', {
      arrive: () => this.#splitsOf(table),
      describe: () => `asks for the splits of ${table}`,
    });

  #splitsOf(table: string): readonly string[] {
    const { splits = [] } = this.#world.table(table).schema;
    return this.#world.knobs.staleTablets === true ? SPLITS_OF_YESTERDAY : splits;
  }

  readonly createTable: Bigtable['createTable'] = (table, schema) => {
    return this.#administer(`creates ${table}`, () => {
      this.#world.tables.create(table, schema);
    });
  };

  readonly listTables: Bigtable['listTables'] = () =>
    this.#read('', {
      arrive: () => [...this.#world.tables.keys()],
      describe: (tables) => `lists the tables: ${tables?.join(', ')}`,
    });

  readonly dropTable: Bigtable['dropTable'] = (table) => {
    return this.#administer(`drops ${table}`, () => {
      this.#world.tables.delete(table);
    });
  };

  get fence(): Bigtable['fence'] {
    if (this.#world.knobs.fences !== true) return undefined;
    return () => {
      return this.#read('', {
        arrive: () => this.#world.fence(),
        describe: () => 'sets a fence',
      });
    };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #read<T>(
    row: string,
    read: Pick<NetworkMessage<T>, 'arrive' | 'request'> & {
      readonly describe: (answer: T | undefined) => string;
    },
  ): Promise<T> {
    let answered: T | undefined;
    const arrive = (): T => {
      this.#refuseIfUnavailable(row);
      answered = read.arrive();
      return answered;
    };
    return send(this.#world, this.#process, {
      arrive,
      gaveUp: () => new PercolatorError('STORE_UNAVAILABLE', `reading ${row} got no answer`),
      fate: 'sentAgain',
      immuneTo: READ_IMMUNITY,
      describe: () => read.describe(answered),
      request: read.request,
    });
  }

  #mutate<T>(
    row: string,
    immunity: ReadonlySet<MessageFault>,
    mutation: Pick<NetworkMessage<T>, 'arrive' | 'describe' | 'fate' | 'request'>,
  ): Promise<T> {
    const lane = this.#lane;
    return send(this.#world, this.#process, {
      arrive: () => {
        if (lane === undefined) this.#refuseIfUnavailable(row);
        return mutation.arrive();
      },
      gaveUp: () => new PercolatorError('STORE_IN_DOUBT', `mutating ${row} got no answer`),
      isMutation: true,
      fate: mutation.fate,
      lane,
      immuneTo: lane === undefined ? immunity : ORDERED_IMMUNITY.union(immunity),
      describe: mutation.describe,
      request: mutation.request,
    });
  }

  #administer(what: string, change: () => void): Promise<void> {
    return send(this.#world, this.#process, {
      arrive: () => {
        this.#refuseIfUnavailable('');
        change();
        this.#world.stir(this.#world.timeline.nowMs ^ (this.#process.id << 16));
      },
      gaveUp: () => new PercolatorError('STORE_IN_DOUBT', `no answer: ${what}`),
      fate: 'sentAgain',
      immuneTo: TABLE_IMMUNITY,
      describe: () => what,
    });
  }

  #applied(table: string, row: string, mutations: RowMutation['mutations'] | undefined): void {
    this.#world.observe(table, row, mutations);
    this.#world.stir(this.#world.timeline.nowMs ^ (this.#process.id << 16));
  }

  #refuseIfUnavailable(row: string): void {
    if (!this.#world.isUnavailable(row)) return;
    throw new PercolatorError('STORE_UNAVAILABLE', `the tablet of ${row} is unavailable`);
  }
}
