/** The active master: it makes and drops tables, and says which there are. */
import type { Clock } from '../../base/index.ts';
import { HBaseFailure, mayRepeat } from './failures.ts';
import {
  type Codec,
  messageOf,
  type ServerName,
  type TableName,
  type TableSchemaMessage,
} from './messages.ts';
import { addressOf, type Seeds } from './seeds.ts';
import type { Servers } from './servers.ts';

const TRY_MS = 20_000;
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
        return await connection.call(method, { type, value, response }, TRY_MS);
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
