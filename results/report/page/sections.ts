/** The smaller sections of the page, in the page's order. */
import { formatCount, formatDigits, formatDuration, formatShare } from '../charts/format.ts';
import { targetVerdict, type CrawlResult, type RunRecord, type Target } from '../run-record.ts';
import { limitations } from './headline.ts';
import { html, type Html } from './html.ts';

export function limitationsSection(record: RunRecord): Html {
  const sentences = limitations(record);
  if (sentences.length === 0) return html``;
  return html`<section class="limitations">
    <h2>Limitations</h2>
    <ul>
      ${sentences.map((sentence) => html`<li>${sentence}</li>`)}
    </ul>
  </section>`;
}

export function targetsSection(record: RunRecord): Html {
  if (record.targets.length === 0) return html``;
  const judged = record.targets.filter(({ met }) => met !== null);
  const met = judged.filter((target) => target.met).length;
  const unjudged = record.targets.length - judged.length;
  return html`<section>
    <h2>
      Targets: ${met} of ${judged.length} met${unjudged > 0 ? `, ${unjudged} not judged` : null}
    </h2>
    <div class="scroll">
      <table id="targets">
        <thead>
          <tr>
            <th>Target</th>
            <th>Asked for</th>
            <th>Measured</th>
            <th>Met</th>
          </tr>
        </thead>
        <tbody>
          ${record.targets.map(
            (target) =>
              html`<tr>
                <th scope="row">${target.name}</th>
                <td>${target.target}</td>
                <td>${target.measured}</td>
                <td>${verdictMark(target)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function verdictMark(target: Target): Html {
  const verdict = targetVerdict(target);
  if (target.met === null) {
    return html`${verdict}: ${target.reason ?? 'the load did not ask for it'}`;
  }
  return html`<span class="${target.met ? 'ok' : 'bad'}">${verdict}</span>`;
}

/** Capacity of both systems and the repository they worked on, as a row of large numbers. */
export function figuresSection(record: RunRecord): Html {
  const { repository, capacity, mapreduceModel: model } = record;
  const figures: readonly (readonly [string, string] | null)[] = [
    repository && ['documents in the repository', formatCount(repository.documents)],
    repository && ['mean cluster size', formatDigits(repository.meanClusterSize)],
    repository && ['documents that share their cluster', formatShare(repository.nonSingletonShare)],
    rate('documents/s, highest that Percolator sustained', capacity?.percolatorDocumentsPerSecond),
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
      ${crawl.check.detail}
    </p>
    ${crawl.check.passed ? duplicates(crawl) : null}
    <p class="small">
      ${Object.entries(crawl.counts).map(
        ([kind, count]) => html`<span class="count">${kind}: ${formatCount(count)}</span> `,
      )}
    </p>
  </section>`;
}

/** Shows no finding of a run that failed its check. */
function duplicates(crawl: CrawlResult): Html {
  const shown = crawl.crossHostDuplicates;
  const total = Math.max(crawl.crossHostDuplicateGroups, shown.length);
  if (total === 0) return html`<p>No duplicates were found across hosts.</p>`;
  const which = shown.length < total ? `the first ${shown.length} of ` : '';
  return html`<details open>
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

export function runSection(record: RunRecord): Html {
  const { environment: place, store } = record;
  const facts: readonly (readonly [string, string | Html])[] = [
    ['Run', html`<code>${record.runId}</code>`],
    ['Repeat it with', html`<code>${record.commandLine}</code>`],
    ['Seed', String(record.seed)],
    ['Repeats of each point', String(record.repeats)],
    ['Profile', record.profile],
    ['Started', record.startedAt],
    ['Finished', record.finishedAt ?? 'not finished'],
    ['Store', `${store.name}. ${store.durability}`],
    ['Commit', commitText(place.commit)],
    ['Node', place.nodeVersion],
    ['Machine', `${place.cpuModel}, ${place.cores} cores, ${memoryText(place.memoryBytes)}`],
    [
      'System',
      `${place.operatingSystem}; ${place.kernel}; ${place.fileSystem ?? 'unknown'} file system`,
    ],
  ];
  return html`<section id="run">
    <h2>The run record</h2>
    <dl class="facts">
      ${facts.map(
        ([name, value]) =>
          html`<dt>${name}</dt>
            <dd>${value}</dd>`,
      )}
    </dl>
    <details>
      <summary>Parameters</summary>
      <dl class="facts">
        ${Object.entries(record.parameters).map(
          ([name, value]) =>
            html`<dt><code>${name}</code></dt>
              <dd>${parameterText(value)}</dd>`,
        )}
      </dl>
    </details>
  </section>`;
}

function commitText(commit: RunRecord['environment']['commit']): Html {
  if (commit === null) return html`unknown`;
  return html`<code>${commit.hash}</code>${commit.dirty ? ', with changes' : null}`;
}

export function memoryText(bytes: number): string {
  return `${formatDigits(bytes / 2 ** 30)} GiB`;
}

function parameterText(value: RunRecord['parameters'][string] | undefined): string {
  if (value === null || value === undefined) return 'not set';
  return typeof value === 'object' ? value.join(', ') : String(value);
}
