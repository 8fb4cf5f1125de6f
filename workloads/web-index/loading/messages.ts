/** What a pipeline process is told at its start, and what it says. */
import type { StoreAddress } from '#engine';
import type { LoadStage } from '../search-page/load-status.ts';

export interface PipelineOptions {
  readonly store: StoreAddress;
  /** The folder of the serving index. */
  readonly indexFolder: string;
  /** WARC files, in the order in which they were crawled. */
  readonly inputs: readonly string[];
}

export type FromPipeline =
  | {
      readonly kind: 'stages';
      readonly captures: number;
      /** Pages that are served. */
      readonly results: number;
      readonly stages: readonly LoadStage[];
    }
  /** A record was left out, a file was read with a doubt, or an observer has given up. */
  | { readonly kind: 'left out' | 'in doubt' | 'given up'; readonly sentence: string }
  /** All captures are loaded; the observers go on. */
  | { readonly kind: 'loaded' }
  /** The observers have nothing to do. `parked`: cells whose observers have given up. */
  | { readonly kind: 'at rest'; readonly parked: number }
  /** A file cannot be read, or is no WARC; the load has ended. */
  | { readonly kind: 'refused'; readonly sentence: string };
