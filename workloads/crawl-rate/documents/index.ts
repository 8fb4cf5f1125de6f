/** The front door of the documents: what is clustered, and what its clusters should be. */
export {
  decodeDocument,
  decodeKeys,
  decodeRecord,
  decodeRecordKeys,
  documentId,
  encodeDocument,
  encodeRecord,
  type Document,
  type KeyedDocument,
  type Keys,
} from './document.ts';
export {
  createSyntheticDocuments,
  type SyntheticDocuments,
  type SyntheticOptions,
} from './synthetic.ts';
export { clusterDumbly, clusterInPhases, type Partition } from './clustering.ts';
export {
  describePartition,
  expectedPartition,
  samePartition,
  type PartitionDescription,
} from './partition.ts';
export { openCrawl, type Crawl } from './crawl.ts';
export { describeCrawl, type CrawledPage, type CrawlDescription } from './crawl-description.ts';
