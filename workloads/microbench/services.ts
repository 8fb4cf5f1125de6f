/**
 * Oracle and lock service of a run with `--processes`: each is a process, and this process has a
 * client of the oracle.
 */
import { connectOracle, type StoreAddress, type TimestampOracle } from '#engine';
import { Crew, type SharedDatabase, startServices } from '../harness/processes/index.ts';

export interface Services extends AsyncDisposable {
  /** All processes of the run; the clients join it. */
  readonly crew: Crew;
  readonly database: SharedDatabase;
  readonly pids: readonly number[];
  readonly oracle: TimestampOracle;
}

/** How long a caller waits for the oracle, in milliseconds: the run prefers waiting to failing. */
const ORACLE_MS_MAX = 60_000;

export async function openServices(store: StoreAddress, signal: AbortSignal): Promise<Services> {
  await using cleanup = new AsyncDisposableStack();
  const crew = cleanup.use(new Crew(signal));
  const database = await startServices(crew, store);
  const { pids } = crew;
  // The processes stop in an orderly way, so that the next oracle need not wait for a lease. If one
  // has failed, its failure was reported already.
  cleanup.defer(() =>
    crew.stop().then(
      () => {},
      () => {},
    ),
  );
  const oracle = connectOracle({ addresses: database.oracles, timeoutMs: ORACLE_MS_MAX });
  cleanup.use(oracle);
  const all = cleanup.move();
  return { crew, database, pids, oracle, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
