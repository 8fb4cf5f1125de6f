/**
 * The front door of the model: what the web index is, for all except the batch's jobs
 * (batch/page-jobs.ts says why). Start reading at index-of.ts.
 */
export {
  type Capture,
  type CaptureKind,
  compareCaptures,
  decodeCapture,
  encodeCapture,
  kindOf,
  latestCaptures,
  redirectTarget,
} from './capture.ts';
export { type IndexedPage, indexOf, type PageCluster, type WebIndex } from './index-of.ts';
export { REDIRECTS_MAX } from './limits.ts';
export { finalRank, ranksFrom, sharesOf, shownRank } from './page-rank.ts';
export { type OutgoingLink, type ProcessedPage, processPage } from './process-page.ts';
export { type Damage, describeDamage, readCaptures, type ReadOptions } from './read-captures.ts';
export { describeResource, type RenderedPage, renderPage, type Resource } from './render-page.ts';
export {
  type Anchor,
  anchorsOf,
  electCanonical,
  type Member,
  mergeAnchors,
  type ServedPage,
  shownAnchors,
} from './served-page.ts';
