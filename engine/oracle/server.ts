/**
 * The timestamp oracle as a server: any source of timestamps, over gRPC (oracle.proto).
 *
 *     clients ──▶ this server ──▶ leased-allocator.ts    from memory; only under a lease
 *                             └▶ allocator.ts            reads the store for each answer
 *
 * It neither adds to the promises of the source nor weakens them: it keeps no timestamps for later,
 * so each request is answered with timestamps that were allocated after it arrived (P10, early
 * commit timestamp). It says with each answer which database they are for (P73, another database's
 * oracle).
 */
import { PercolatorError } from '../base/index.ts';
import { checkOptions, CLOCK, FUNCTION, NAME, type OptionRules } from '../base/options.ts';
import type { Timestamp } from '../bigtable/index.ts';
import type { Health } from '../rpc/health.ts';
import { SECURITY, startServer, unary } from '../rpc/index.ts';
import type { RpcServer, ServerOptions } from '../rpc/rpc-server.ts';
import { checkOracle } from './oracle-row.ts';
import type { TimestampSource } from './oracle.ts';
import {
  type AllocateRequest,
  type AllocateResponse,
  type ChangeRequest,
  type DropsResponse,
  type HorizonResponse,
  type OfOracle,
  oracleService,
  type RaiseHorizonRequest,
} from './service.ts';

/** No batch is this large, so a larger count is a mistake. It could use up all 2^53 timestamps. */
const COUNT_MAX = 100_000_000;

export type ServeOracleOptions = ServerOptions;

const RULES: OptionRules<ServeOracleOptions> = {
  address: NAME,
  onWarning: FUNCTION,
  clock: CLOCK,
  ...SECURITY,
};

/**
 * Starts the server. It does not own the source: a caller whose source can be closed closes it
 * after the server.
 * @throws INVALID_ARGUMENT for a wrong option, or if the server cannot listen at the address;
 *   PACKAGE_MISSING
 */
export async function serveOracle(
  source: TimestampSource,
  options: ServeOracleOptions = {},
): Promise<RpcServer> {
  checkOptions('serveOracle', options, RULES);
  const { Allocate, ReadHorizon, RaiseHorizon, AnnounceDrop } = answersFrom(source);
  const implementation = {
    Allocate: unary(Allocate),
    ReadHorizon: unary(ReadHorizon),
    RaiseHorizon: unary(RaiseHorizon),
    AnnounceDrop: unary(AnnounceDrop),
  };
  return startServer(oracleService, implementation, options, healthFrom(source));
}

/** A standby is alive: it watches the lease. Only the oracle that holds it serves. */
function healthFrom(source: TimestampSource): Health {
  let hasEnded = false;
  const end = (): void => {
    hasEnded = true;
  };
  source.ended?.then(end, end);
  const isServing = (): boolean => source.isLeading ?? true;
  return { isAlive: () => !hasEnded, isServing, database: () => source.identity };
}

/** The answers to the methods of the service. */
export interface OracleAnswers {
  readonly Allocate: (request: AllocateRequest) => Promise<AllocateResponse>;
  readonly ReadHorizon: () => Promise<HorizonResponse>;
  readonly RaiseHorizon: (request: RaiseHorizonRequest) => Promise<HorizonResponse>;
  readonly AnnounceDrop: (request: ChangeRequest) => Promise<DropsResponse>;
}

/** For the server, and for the simulator, whose network is no gRPC. */
export function answersFrom(source: TimestampSource): OracleAnswers {
  /**
   * Reads the epoch before it asks. If the epoch moves before the answer comes, an answer that
   * names none counts as one of the earlier epoch. A source that takes its first lease in order to
   * answer has no epoch before: it is read afterwards.
   */
  const signed = async <T>(ask: () => Promise<T>): Promise<T & OfOracle> => {
    const before = source.epoch ?? 0;
    const answer = await ask();
    const epoch = before === 0 ? (source.epoch ?? 0) : before;
    return { epoch, identity: source.identity ?? '', ...answer };
  };
  const horizonOf = (horizon: Timestamp): Omit<HorizonResponse, keyof OfOracle> => ({
    horizon,
    newest: source.newest ?? 0,
  });
  const refuseOthers = ({ identity }: ChangeRequest): void => {
    if (identity !== '') checkOracle(identity, source.identity);
  };
  return {
    Allocate: async ({ count }) => {
      if (!(Number.isSafeInteger(count) && count >= 1 && count <= COUNT_MAX)) {
        const message = `count must be a whole number from 1 to ${COUNT_MAX}, not ${count}`;
        throw new PercolatorError('INVALID_ARGUMENT', message);
      }
      return signed(() => source.allocate(count));
    },
    ReadHorizon: () => signed(async () => horizonOf(await source.readHorizon())),
    RaiseHorizon: (request) =>
      signed(async () => {
        refuseOthers(request);
        await refuseFuture(source, request.horizon);
        return horizonOf(await source.raiseHorizon(request.horizon));
      }),
    AnnounceDrop: (request) =>
      signed(async () => {
        refuseOthers(request);
        return { drops: await source.announceDrop() };
      }),
  };
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
