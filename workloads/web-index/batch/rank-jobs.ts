/**
 * The second chain: links inverted, and PageRank. It reads what the first chain has written, but
 * passes on only links, so its records are small.
 *
 *     follow × 5   at an address: links to it go on if it redirects
 *     invert       at a page: the links that have arrived are its anchors; their sources hear of it
 *     rank × 9     at a page: its rank at one more level, and its share to all it links to
 *
 * The levels of the model (page-rank.ts) are the rounds of the batch: a round needs only the shares
 * of the round before it. The first rank job makes no rank: in it a page hears where its links have
 * ended.
 */
import type { JobChain, MapReduceJob } from '#mapreduce';
import { type Anchor, anchorsOf, mergeAnchors } from '../model/served-page.ts';
import { REDIRECTS_MAX } from '../model/limits.ts';
import { FIRST_RANK, nextRank, RANK_LEVELS, shareOf } from '../model/page-rank.ts';
import { type Addressed, messageJob } from './message-job.ts';
import type { PageLine } from './page-jobs.ts';

/** The output: what links say about a page. */
export interface RankLine {
  readonly kind: 'rank';
  readonly rank: number;
  readonly anchors: readonly Anchor[];
}

/** A link on its way to the page where it ends. */
interface FollowedLink {
  readonly kind: 'link';
  readonly source: string;
  readonly texts: readonly string[];
}

type Followed =
  | FollowedLink
  | { readonly kind: 'redirect'; readonly target: string }
  /** `targets` counts what the page links to, crawled or not. */
  | { readonly kind: 'page'; readonly targets: number };

/** A page, while its rank is computed. */
interface RankedPage {
  readonly kind: 'ranked';
  readonly rank: number;
  readonly anchors: readonly Anchor[];
  readonly targets: number;
  /** Where its links end, once for each link. */
  readonly ends: readonly string[];
}

type Ranked =
  | RankedPage
  | { readonly kind: 'end'; readonly url: string }
  | { readonly kind: 'share'; readonly share: number };

type RankStep =
  | { readonly step: 'follow'; readonly isFirst: boolean }
  | { readonly step: 'invert' }
  | { readonly step: 'rank'; readonly level: number };

export const chain: readonly RankStep[] = [
  ...Array.from(
    { length: REDIRECTS_MAX },
    (_, i) => ({ step: 'follow', isFirst: i === 0 }) as const,
  ),
  { step: 'invert' },
  ...Array.from({ length: RANK_LEVELS + 1 }, (_, level) => ({ step: 'rank', level }) as const),
];
export const RANK_JOBS: JobChain = { url: import.meta.url, parameters: chain };

export function createJob(parameters: unknown): MapReduceJob {
  const job = parameters as RankStep;
  if (job.step === 'follow') {
    return messageJob<PageLine, Followed, Followed>(follow, job.isFirst ? linksOf : undefined);
  }
  if (job.step === 'invert') return messageJob<Followed, Followed, Ranked>(invert);
  return messageJob<Ranked, Ranked, Ranked | RankLine>((url, messages) =>
    rank(url, messages, job.level),
  );
}

function* linksOf(url: string, line: PageLine): Generator<Addressed<Followed>> {
  if (line.kind === 'redirect') yield [url, line];
  if (line.kind !== 'page') return;
  yield [url, { kind: 'page', targets: line.links.length }];
  for (const { target, texts } of line.links) yield [target, { kind: 'link', source: url, texts }];
}

/** Links to what was not crawled end here. */
function* follow(url: string, messages: readonly Followed[]): Generator<Addressed<Followed>> {
  const redirect = messages.find(({ kind }) => kind === 'redirect');
  if (redirect?.kind !== 'redirect' && !messages.some(({ kind }) => kind === 'page')) return;
  for (const message of messages) {
    const goesOn = message.kind === 'link' && redirect?.kind === 'redirect';
    yield [goesOn ? redirect.target : url, message];
  }
}

function* invert(url: string, messages: readonly Followed[]): Generator<Addressed<Ranked>> {
  const page = messages.find(({ kind }) => kind === 'page');
  if (page?.kind !== 'page') return;
  const links = messages.filter((message) => message.kind === 'link');
  const anchors = mergeAnchors(links.map(({ texts }) => anchorsOf(texts)));
  yield [url, { kind: 'ranked', rank: FIRST_RANK, anchors, targets: page.targets, ends: [] }];
  for (const { source } of links) yield [source, { kind: 'end', url }];
}

function* rank(
  url: string,
  messages: readonly Ranked[],
  level: number,
): Generator<Addressed<Ranked | RankLine>> {
  const page = messages.find(({ kind }) => kind === 'ranked');
  if (page?.kind !== 'ranked') return;
  const next = level === 0 ? withEnds(page, messages) : withRank(page, messages);
  const { rank: reached, anchors, targets, ends } = next;
  if (level === RANK_LEVELS) {
    yield [url, { kind: 'rank', rank: reached, anchors }];
    return;
  }
  yield [url, next];
  for (const end of ends) yield [end, { kind: 'share', share: shareOf(reached, targets) }];
}

function withEnds(page: RankedPage, messages: readonly Ranked[]): RankedPage {
  const ends = messages.flatMap((message) => (message.kind === 'end' ? [message.url] : []));
  return { ...page, ends };
}

function withRank(page: RankedPage, messages: readonly Ranked[]): RankedPage {
  const shares = messages.filter((message) => message.kind === 'share');
  return { ...page, rank: nextRank(shares.reduce((sum, { share }) => sum + share, 0)) };
}
