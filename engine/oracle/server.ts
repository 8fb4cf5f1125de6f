/**
 * The timestamp oracle as a server: any source of timestamps, over gRPC (oracle.proto).
 *
 *     clients ──▶ this server ──▶ leased-allocator.ts    from memory; one oracle at a time
 *                             └▶ allocator.ts            asks the store each time; several may run
 *
 * It adds no promise to those of the source. In particular it keeps no timestamps: each request is
 * answered with timestamps allocated after it arrived (P10).
 */
import { PercolatorError } from '../base/index.ts';
import { type RpcServer, startServer, unary } from '../rpc/index.ts';
import type { TimestampSource } from './oracle.ts';
import {
  type AllocateRequest,
  type AllocateResponse,
  type DropsResponse,
  type HorizonResponse,
  oracleService,
  type RaiseHorizonRequest,
} from './service.ts';

/** A larger request is a mistake, and would use up the timestamps of centuries. */
const COUNT_MAX = 100_000_000;

export interface ServeOracleOptions {
  /** Host and port. Default: a free port, for processes of this machine only. */
  readonly address?: string | undefined;
}

/**
 * Starts to serve. The caller keeps owning the source, and closes it after the server.
 * @throws INVALID_ARGUMENT if the server cannot listen at the address
 */
export function serveOracle(
  source: TimestampSource,
  options: ServeOracleOptions = {},
): Promise<RpcServer> {
  /**
   * Reads the epoch first: if it moves meanwhile, an answer that names no epoch counts as the
   * earlier oracle's. A source that takes its first lease for the answer has one only afterwards.
   */
  const withEpoch = async <T>(ask: () => Promise<T>): Promise<T & { readonly epoch: number }> => {
    const before = source.epoch ?? 0;
    const answer = await ask();
    return { epoch: before === 0 ? (source.epoch ?? 0) : before, ...answer };
  };
  const implementation = {
    allocate: unary(async ({ count }: AllocateRequest): Promise<AllocateResponse> => {
      if (!(count >= 1 && count <= COUNT_MAX)) {
        const message = `count must be a number from 1 to ${COUNT_MAX}, not ${count}`;
        throw new PercolatorError('INVALID_ARGUMENT', message);
      }
      return withEpoch(() => source.allocate(count));
    }),
    readHorizon: unary((): Promise<HorizonResponse> =>
      withEpoch(async () => ({ horizon: await source.readHorizon() })),
    ),
    raiseHorizon: unary(({ horizon }: RaiseHorizonRequest): Promise<HorizonResponse> =>
      withEpoch(async () => ({ horizon: await source.raiseHorizon(horizon) })),
    ),
    announceDrop: unary((): Promise<DropsResponse> =>
      withEpoch(async () => ({ drops: await source.announceDrop() })),
    ),
  };
  return startServer(oracleService(), implementation, options.address);
}
