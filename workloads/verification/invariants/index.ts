/** The public interface of the workloads with invariants. */
import { bank, listAppend, overdraft, pieces, ring } from './transactions.ts';
import { pipeline } from './pipeline.ts';
import type { Workload } from './workload.ts';

export const WORKLOADS: readonly Workload[] = [bank, ring, overdraft, pieces, listAppend, pipeline];

export { LISTS, parseList } from './transactions.ts';
export {
  lookBack,
  recordingClient,
  recordingCommits,
  recordingObservers,
  type TransactionEnd as Ending,
  type RecordedTransaction,
  type Recorder,
  type Sink,
} from './recording.ts';
export type { WorkloadClient, Work, Workload, WorkloadObserver } from './workload.ts';
