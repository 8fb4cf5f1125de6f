/** The public interface of the workloads with invariants. */
import { bank } from './bank.ts';
import { listAppend } from './list-append.ts';
import { overdraft } from './overdraft.ts';
import { pieces } from './pieces.ts';
import { pipeline } from './pipeline.ts';
import { ring } from './ring.ts';
import type { Workload } from './workload.ts';

export const WORKLOADS: readonly Workload[] = [bank, ring, overdraft, pieces, listAppend, pipeline];

export { LISTS, parseList } from './list-append.ts';
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
export type { Client, Work, Workload, WorkloadObserver } from './workload.ts';
