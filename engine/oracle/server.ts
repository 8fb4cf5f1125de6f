/**
 * The timestamp oracle as a server: any source of timestamps, over gRPC (oracle.proto).
 *
 *     clients ──▶ this server ──▶ leased-allocator.ts    from memory; only under a lease
 *                             └▶ allocator.ts            reads the store for each answer
 *
 * It neither adds to the promises of the source nor weakens them: it keeps no timestamps for later,
 * so each request is answered with timestamps that were allocated after it arrived (P10).
 */
import { PercolatorError } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
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

/** No batch is this large, so a larger count is a mistake. It could use up all 2^53 timestamps. */
const COUNT_MAX = 100_000_000;

export interface ServeOracleOptions {
  /** Host and port. Default: a free port that can be reached from this machine only. */
  readonly address?: string | undefined;
}

/**
 * Starts the server. It does not own the source: a caller whose source can be closed closes it
 * after the server.
 * @throws INVALID_ARGUMENT if the server cannot listen at the address
 */
export function serveOracle(
  source: TimestampSource,
  options: ServeOracleOptions = {},
): Promise<RpcServer> {
  /**
   * Reads the epoch before it asks. If the epoch moves before the answer comes, an answer that
   * names none counts as one of the earlier epoch. A source that takes its first lease in order to
   * answer has no epoch before: it is read afterwards.
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
      withEpoch(async () => {
        await refuseFuture(source, horizon);
        return { horizon: await source.raiseHorizon(horizon) };
      }),
    ),
    announceDrop: unary((): Promise<DropsResponse> =>
      withEpoch(async () => ({ drops: await source.announceDrop() })),
    ),
  };
  return startServer(oracleService(), implementation, options.address);
}

/**
 * Collectors raise the horizon to a timestamp that they have received. A larger one is a mistake:
 * it would make all snapshots stale, and can never be lowered.
 */
async function refuseFuture(source: TimestampSource, horizon: Timestamp): Promise<void> {
  const { first } = await source.allocate(1);
  if (horizon < first) return;
  const message = `the horizon must be below the next timestamp, ${first}, not ${horizon}`;
  throw new PercolatorError('INVALID_ARGUMENT', message);
}
