/**
 * The store of a script: the one that `--store` names, made ready for the script and its processes.
 *
 *     embedded      a folder that the script gives
 *     emulator      the one of BIGTABLE_EMULATOR_HOST, or one started here and stopped at the end
 *     bigtable://   Cloud Bigtable; needs no preparation
 *
 * A script passes the address to its processes, and each opens the store with `openStore`.
 */
import {
  type Emulator,
  parseStoreName,
  PercolatorError,
  startEmulator,
  type StoreAddress,
  type StoreName,
  unreachable,
} from '#engine';
import { UsageError } from '#results';

export interface ProvidedStore extends AsyncDisposable {
  readonly address: StoreAddress;
  /**
   * The process that serves it on this machine; null if it has none, or if this script did not
   * start it.
   */
  readonly serverPid: number | null;
}

/** @throws UsageError for a name that is not a store's */
export function checkStoreName(name: string): StoreName {
  try {
    return parseStoreName(name);
  } catch (error) {
    throw asUsageError(error);
  }
}

/** @throws UsageError if no emulator is found; the message says how to get one */
export async function provideStore(
  name: StoreName,
  embedded: Omit<Extract<StoreAddress, { readonly kind: 'embedded' }>, 'kind'>,
): Promise<ProvidedStore> {
  if (name === 'embedded') return provided({ kind: 'embedded', ...embedded });
  if (name === 'emulator') return provideEmulator();
  if (name.kind === 'cloud') return provided(name);
  return unreachable(name.kind);
}

async function provideEmulator(): Promise<ProvidedStore> {
  const running = process.env['BIGTABLE_EMULATOR_HOST'];
  if (running !== undefined && running !== '') {
    return provided({ kind: 'emulator', address: running });
  }
  try {
    const emulator = await startEmulator({ environment: process.env });
    return provided({ kind: 'emulator', address: emulator.address }, emulator);
  } catch (error) {
    throw asUsageError(error);
  }
}

function provided(address: StoreAddress, emulator?: Emulator): ProvidedStore {
  return {
    address,
    serverPid: emulator?.pid ?? null,
    [Symbol.asyncDispose]: async () => emulator?.stop(),
  };
}

function asUsageError(error: unknown): unknown {
  if (!(error instanceof PercolatorError)) return error;
  return new UsageError(`--store: ${error.message}.`, { cause: error });
}
