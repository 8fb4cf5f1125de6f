/** What a task of a scenario works with: the public interface of the engine, recorded. */
import { hasCode, PercolatorError, textOf } from '../../../../engine/base/index.ts';
import type { Percolator } from '../../../../engine/database.ts';
import type { Transaction } from '../../../../engine/transaction/index.ts';
import {
  type Recorder,
  recordingClient,
  recordingCommits,
  recordingObservers,
} from '../../invariants/recording.ts';
import type { WorkloadObserver } from '../../invariants/workload.ts';
import { historicCell } from '../../judges/history.ts';
import { cellOf, type TaskClient } from '../scenario.ts';

/** What the client of one process works with. */
export interface TaskSurroundings {
  readonly percolator: Percolator;
  readonly recorder: Recorder;
  readonly observers: readonly WorkloadObserver[];
  readonly tell: (sentence: string) => void;
}

export function taskClient(surroundings: TaskSurroundings): TaskClient {
  const { percolator, recorder, observers, tell } = surroundings;
  const client = recordingClient({ begin: () => begin(percolator, tell) }, 'explorer', recorder);
  return {
    percolator,
    tell,
    attempt: (body) => client.attempt(body),
    read: (...cells) => read(surroundings, cells),
    work: async () => {
      const worker = percolator.startWorker(
        recordingObservers({ name: 'explorer', observers }, recorder),
        { onWarning: () => {}, onCommitted: recordingCommits(recorder) },
      );
      await worker.idle();
      await worker.stop();
      tell(`has run observers ${worker.counters.runs} times`);
    },
    collect: async () => {
      const { cellsDeleted, horizon } = await percolator.collectGarbage();
      tell(`has deleted ${cellsDeleted} cells below ${horizon}`);
    },
  };
}

/** Says what becomes of the transaction. */
async function begin(
  percolator: Percolator,
  tell: (sentence: string) => void,
): Promise<Transaction> {
  const transaction = await percolator.begin();
  const { startTimestamp } = transaction;
  tell(`its transaction starts at ${startTimestamp}`);
  const commit = async (): Promise<number> => {
    try {
      const committedAt = await transaction.commit();
      tell(`its transaction of ${startTimestamp} has committed at ${committedAt}`);
      return committedAt;
    } catch (error) {
      const code = error instanceof PercolatorError ? error.code : String(error);
      tell(`its transaction of ${startTimestamp} has failed: ${code}`);
      throw error;
    }
  };
  return new Proxy(transaction, {
    get: (target, name) => {
      if (name === 'commit') return commit;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

async function read(
  { percolator, recorder, tell }: TaskSurroundings,
  cells: readonly string[],
): Promise<void> {
  const { process, nowMs, sink } = recorder;
  const beganAt = nowMs();
  try {
    await using snapshot = await percolator.snapshot();
    const { startTimestamp } = snapshot;
    tell(`its snapshot is of ${startTimestamp}`);
    const reads = [];
    for (const name of cells) {
      const value = await snapshot.get(cellOf(name));
      const text = value && textOf(value);
      reads.push({ cell: historicCell(cellOf(name)), value: text });
      tell(`reads ${name}: ${text ?? 'nothing'}`);
    }
    const history = { process, beganAt, endedAt: nowMs(), outcome: 'committed', reads } as const;
    sink.began({ workload: 'explorer', startTimestamp, writes: [], locks: [], ...history });
  } catch (error) {
    if (!hasCode(error, 'LOCKED') && !hasCode(error, 'STALE_SNAPSHOT')) throw error;
    tell(`gives up: ${error.code}`);
  }
}
