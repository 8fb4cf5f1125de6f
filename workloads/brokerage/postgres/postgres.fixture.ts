/** A private PostgreSQL for tests, if this machine can run one: the fixture tries to start it. */
import { UsageError } from '#results';
import { type PostgresServer, providePostgres } from './server.ts';

export interface OptionalServer extends AsyncDisposable {
  /** For `skip` of a test: false, or one line that says why there is no server. */
  readonly skip: string | false;
  /** @throws if there is none: check `skip` first */
  readonly server: PostgresServer;
}

/** `folder` as for `providePostgres`. */
export async function tryPostgres(folder?: string): Promise<OptionalServer> {
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
