/** The servers that a user names: any of them knows where the master and `hbase:meta` are. */
import { PercolatorError } from '../../base/index.ts';
import { isNoServer } from './failures.ts';
import { type Codec, messageOf, type ServerName } from './messages.ts';
import type { Servers } from './servers.ts';

const TRY_MS = 3000;

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

export function addressOf({ hostName, port = 0 }: ServerName): string {
  return hostName.includes(':') ? `[${hostName}]:${port}` : `${hostName}:${port}`;
}
