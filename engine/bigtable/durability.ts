/**
 * What a commit survives on each store: one sentence, which the manifest and all reports repeat.
 */
import { unreachable } from '../base/index.ts';

type Store =
  | { readonly kind: 'embedded'; readonly fsync?: boolean | undefined }
  | { readonly kind: 'emulator' | 'cloud' | 'hbase' };

export function durabilityOf(store: Store): string {
  switch (store.kind) {
    case 'embedded':
      return (store.fsync ?? true)
        ? 'every commit is on disk (fsync, in groups) before it is answered'
        : 'a commit survives kill -9 of the process, not a power failure (no fsync)';
    case 'emulator':
      return 'nothing survives the emulator, which keeps everything in memory';
    case 'cloud':
      return 'every commit is stored by Cloud Bigtable before it is answered';
    case 'hbase':
      return (
        'every commit is in the log of a region server, on as many machines as HDFS replicates to: ' +
        "it survives killed processes and, if the cluster's hbase.wal.hsync is on, a power failure of all machines; without HDFS nothing is promised"
      );
    default:
      return unreachable(store);
  }
}
