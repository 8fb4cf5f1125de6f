/** The context that all parts of the experiment share, and what they do alike. */
import type { Random } from '#engine';
import type { Progress } from '#harness';
import type { OfferedLoad } from './clients.ts';
import type { Population } from './model/index.ts';
import type { Plan } from './plan.ts';
import type { Results } from './results.ts';
import type { Session } from './session.ts';
import type { LoadedDatabase } from './systems/database.ts';

export interface Context {
  readonly plan: Plan;
  readonly population: Population;
  /** Folder for everything that is deleted at the end. */
  readonly work: string;
  readonly random: Random;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly results: Results;
}

export function unpacedLoad({ users, warmUp, seconds }: Plan): OfferedLoad {
  return { tradesPerSecond: null, users, warmupSeconds: warmUp, seconds };
}

/** Returns what is wrong, in sentences that each begin with the name of the system. */
export async function checkSessions(
  name: string,
  database: LoadedDatabase,
  sessions: readonly Session[],
): Promise<readonly string[]> {
  const tradeResults = sessions.reduce((sum, session) => sum + session.tradeResults, 0);
  const failures = sessions.flatMap(({ firstFailure }) =>
    firstFailure === null ? [] : [`a transaction has failed: ${firstFailure}`],
  );
  const wrong = [...failures, ...(await database.check(tradeResults))];
  return wrong.map((one) => `${name}: ${one}`);
}
