/**
 * What the three MapReduces of the clustering read, shuffle and write (crawl-rate/batch): records
 * and bytes, from the number of documents alone.
 *
 * Only representatives reach the next phase. With N documents and K keys, N/K = 4/3, a phase that
 * reads n records leaves K × (1 - e^-(n/K)) representatives (docs/figure-7.md).
 */

/** One MapReduce. */
export interface JobVolume {
  readonly inputRecords: number;
  readonly inputBytes: number;
  readonly shuffledBytes: number;
  readonly outputRecords: number;
  readonly outputBytes: number;
}

export interface ClusteringOptions {
  readonly documents: number;
  readonly documentBytes: number;
  /**
   * `once`: contents are read in the first phase alone, and keys travel on, as in our baseline.
   * `always`: every phase reads and writes whole documents. The paper does not say which.
   */
  readonly contents: 'once' | 'always';
}

const KEYS_PER_DOCUMENT = 0.75;
/** A document of our baseline has an id of 10 digits and keys of 12, each with its tab. */
const ID_BYTES = 11;
const KEY_BYTES = 13;
const PHASES = [1, 2, 3] as const;

export function clusteringVolumes({
  documents,
  documentBytes,
  contents,
}: ClusteringOptions): readonly JobVolume[] {
  const keys = KEYS_PER_DOCUMENT * documents;
  const carried = contents === 'always' ? documents * documentBytes : 0;
  let inputRecords = documents;
  return PHASES.map((phase) => {
    const outputRecords = keys * (1 - Math.exp(-inputRecords / keys));
    const volume = {
      inputRecords,
      inputBytes: phase === 1 ? documents * documentBytes : lineBytes(phase, inputRecords),
      shuffledBytes: carried + lineBytes(phase, inputRecords),
      outputRecords,
      outputBytes: carried + lineBytes(phase + 1, outputRecords),
    };
    inputRecords = outputRecords;
    return phase === 1 ? volume : { ...volume, inputBytes: carried + volume.inputBytes };
  });

  /** Bytes of the lines that a phase reads: ids of all documents, and keys of representatives. */
  function lineBytes(phase: number, representatives: number): number {
    const keysLeft = PHASES.length + 1 - phase;
    return ID_BYTES * documents + KEY_BYTES * keysLeft * representatives;
  }
}
