/** The parts of the page that only the crawl rate has: its large numbers, and the real crawl. */
import { formatCount, formatDigits, formatDuration, formatShare } from '../charts/format.ts';
import { html, type Html } from '../page/html.ts';
import { ended } from '../page/sections.ts';
import type { CrawlResult, RunRecord } from '../run-record.ts';

/** Capacity of both systems and the repository they worked on, as a row of large numbers. */
export function figuresSection(record: RunRecord): Html {
  const { repository, capacity, mapreduceModel: model } = record;
  const figures: readonly (readonly [string, string] | null)[] = [
    repository && ['documents in the repository', formatCount(repository.documents)],
    repository && ['mean cluster size', formatDigits(repository.meanClusterSize)],
    repository && ['documents that share their cluster', formatShare(repository.nonSingletonShare)],
    rate(
      'documents/s, highest rate at which Percolator clustered',
      capacity?.percolatorDocumentsPerSecond,
    ),
    rate('documents/s streamed by MapReduce', capacity?.mapreduceDocumentsPerSecond),
    rate('q, cost of a document in Percolator over MapReduce', capacity?.costRatio),
    model && [
      'one batch run over the repository (model)',
      formatDuration(model.fixedSeconds + model.perRepositorySeconds),
    ],
  ];
  const known = figures.filter((figure) => figure !== null);
  if (known.length === 0) return html``;
  return html`<dl class="figures">
    ${known.map(
      ([name, value]) =>
        html`<div>
          <dd>${value}</dd>
          <dt>${name}</dt>
        </div>`,
    )}
  </dl>`;
}

function rate(name: string, value: number | null | undefined): readonly [string, string] | null {
  return value === null || value === undefined ? null : [name, formatDigits(value)];
}

/** The list of duplicates is left out if the check failed. */
export function crawlSection(crawl: CrawlResult | null): Html {
  if (crawl === null) return html``;
  return html`<section id="crawl">
    <h2>A real crawl, clustered by the same code</h2>
    <p>
      ${formatCount(crawl.pages)} pages of <code>${crawl.file}</code> with
      ${formatCount(crawl.distinctContents)} distinct contents fell into
      ${formatCount(crawl.clusters)} clusters of ${formatDigits(crawl.meanClusterSize)} pages on
      average; ${formatShare(crawl.nonSingletonShare)} of the pages share theirs.
      ${crawl.check.passed ? 'The result was checked: ' : 'THE CHECK FAILED: '}
      ${ended(crawl.check.detail)}
    </p>
    ${crawl.check.passed ? duplicates(crawl) : null}
    <p class="small">
      ${Object.entries(crawl.counts).map(
        ([kind, count]) => html`<span class="count">${kind}: ${formatCount(count)}</span> `,
      )}
    </p>
  </section>`;
}

function duplicates(crawl: CrawlResult): Html {
  const shown = crawl.crossHostDuplicates;
  const total = Math.max(crawl.crossHostDuplicateGroups, shown.length);
  if (total === 0) return html`<p>No duplicates were found across hosts.</p>`;
  const which = shown.length < total ? `the first ${shown.length} of ` : '';
  return html`<details>
    <summary>Duplicates found across hosts: ${which}${formatCount(total)} groups</summary>
    <ul class="duplicates">
      ${shown.map(
        ({ urls, shares }) =>
          html`<li>
            <span class="shares">${shares}</span>
            ${urls.map((url) => html`<code>${url}</code>`)}
          </li>`,
      )}
    </ul>
  </details>`;
}
