/** The front door of the documents: the documents themselves, and their right clusters. */
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
export { clusterOneByOne, clusterInPhases, type Partition } from './clustering.ts';
export {
  describePartition,
  expectedPartition,
  samePartition,
  type PartitionDescription,
} from './clustering.ts';
export { openCrawl, type Crawl } from './crawl.ts';
export { describeDamage } from './warc-records.ts';
export { describeCrawl, type CrawledPage, type CrawlDescription } from './crawl.ts';
