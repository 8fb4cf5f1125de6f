/**
 * The program of a witness: on the host of an oracle it asks this one alone for timestamps, each
 * time as a new client, which knows none that it could compare with. What a client would reject, it
 * records (judgeTimestamps in cut-judges.ts).
 */
import { connectOracle, systemClock } from '#engine';
import { monotonicMs } from '../../harness/load/monotonic-clock.ts';
import { serve } from '../../harness/processes/index.ts';
import { openHistoryFile } from './history-file.ts';

export interface WitnessOptions {
  readonly name: string;
  /** The address of the oracle. */
  readonly oracle: string;
  /** The folder for the file of its history. */
  readonly history: string;
}

/** Milliseconds between two questions, and for how long an answer is awaited. */
const REST_MS = 100;
const TIMEOUT_MS = 500;

await serve(async ({ name, oracle, history: folder }: WitnessOptions) => {
  const history = openHistoryFile(folder, `${name}.${process.pid}`);
  const ask = async (): Promise<never> => {
    for (;;) {
      const client = connectOracle({ addresses: [oracle], timeoutMs: TIMEOUT_MS, insecure: true });
      const askedAt = monotonicMs();
      // No answer is what most questions to an oracle on standby get.
      const timestamp = await client.next().catch(() => undefined);
      if (timestamp !== undefined) history.witnessed({ askedAt, at: monotonicMs(), timestamp });
      await client.close();
      await systemClock.sleep(REST_MS);
    }
  };
  void ask();
  return { stop: async () => {} };
});
