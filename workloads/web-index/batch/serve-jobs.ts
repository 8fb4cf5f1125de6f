/**
 * The third chain: clusters of pages with the same form, their canonical pages, and what is served
 * for each. It reads what both chains before it have written.
 *
 *     join     at a page: its form with its rank and anchors
 *     elect    at a form: the canonical page, with the anchors of all pages of the form
 */
import type { JobChain, MapReduceJob } from '#mapreduce';
import {
  type Anchor,
  electCanonical,
  mergeAnchors,
  type ServedPage,
  shownAnchors,
} from '../model/served-page.ts';
import { shownRank } from '../model/page-rank.ts';
import type { RenderedPage } from '../model/render-page.ts';
import { type Addressed, messageJob } from './message-job.ts';
import type { PageLine } from './page-jobs.ts';
import type { RankLine } from './rank-jobs.ts';

interface Candidate {
  readonly url: string;
  readonly rank: number;
  readonly anchors: readonly Anchor[];
  readonly rendered: RenderedPage;
  readonly capturedMs: number;
}

const JOBS = {
  join: () => messageJob<PageLine | RankLine, PageLine | RankLine, Candidate>(join),
  elect: () => messageJob<Candidate, Candidate, ServedPage>(elect),
} as const;

export const chain: readonly unknown[] = Object.keys(JOBS);
export const SERVE_JOBS: JobChain = { url: import.meta.url, parameters: chain };

export function createJob(parameters: unknown): MapReduceJob {
  return JOBS[parameters as keyof typeof JOBS]();
}

function* join(
  url: string,
  messages: readonly (PageLine | RankLine)[],
): Generator<Addressed<Candidate>> {
  const page = messages.find(({ kind }) => kind === 'page');
  const ranked = messages.find(({ kind }) => kind === 'rank');
  if (page?.kind !== 'page' || ranked?.kind !== 'rank') return;
  const { rendered, capturedMs } = page;
  const { rank, anchors } = ranked;
  yield [rendered.hash, { url, rank, anchors, rendered, capturedMs }];
}

function* elect(_hash: string, candidates: readonly Candidate[]): Generator<Addressed<ServedPage>> {
  const url = electCanonical(candidates);
  const canonical = candidates.find((candidate) => candidate.url === url);
  if (canonical === undefined) return;
  const { rank, rendered, capturedMs } = canonical;
  const others = candidates.filter((candidate) => candidate !== canonical);
  const { title, text, language } = rendered;
  const served: ServedPage = {
    url: canonical.url,
    title,
    text,
    language,
    anchors: shownAnchors(mergeAnchors(candidates.map(({ anchors }) => anchors))),
    duplicates: others.map((one) => one.url).toSorted(),
    rank: shownRank(rank),
    capturedMs,
  };
  yield [canonical.url, served];
}
