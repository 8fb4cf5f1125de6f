/** A PostgreSQL of our own for tests, if one runs on this machine, which is found out by trying. */
import { UsageError } from '#results';
import { type PostgresServer, providePostgres } from './server.ts';

export interface TriedServer extends AsyncDisposable {
  /** For `skip` of a test: false, or in one line why there is none. */
  readonly skip: string | false;
  /** @throws if there is none: ask `skip` before */
  readonly server: PostgresServer;
}

/** `folder` as for `providePostgres`. */
export async function tryPostgres(folder?: string): Promise<TriedServer> {
  try {
    const server = await providePostgres({ environment: {}, folder });
    return { skip: false, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return {
      skip: error.message,
      get server(): never {
        throw error;
      },
      [Symbol.asyncDispose]: async () => {},
    };
  }
}
