/**
 * The page of a run, the same for every experiment: the main finding in one sentence, and the chart
 * that shows it; then, in the order of a sceptical reader's questions, its limitations, the
 * targets, the charts that show why, the tables, and the record with links to all files.
 */
import type { Chart } from '../charts/chart.ts';
import { formatDigits } from '../charts/format.ts';
import { isVirtual, type RunRecord, type Target, targetVerdict } from '../run-record.ts';
import { timelineCharts } from '../charts/timeline-charts.ts';
import { chartSection, chartWithSwitches, type ChartWithTable } from './chart-section.ts';
import {
  chipList,
  htmlPage,
  linksTo,
  pageHeader,
  type PageLink,
  PAPER_ADDRESS,
} from './html-page.ts';
import { html, type Html } from './html.ts';
import { isLong, type PageTable, tableSection, verdict } from './table.ts';

/** The parts of the page that differ between experiments. */
export interface RunContent {
  readonly kicker: string;
  readonly title: string;
  readonly headline: string;
  /** What follows the header and the limitations: the check. */
  readonly opening: Html;
  /** The first is the main chart. */
  readonly charts: readonly ChartWithTable[];
  readonly tables: readonly PageTable[];
  /** Files of the run's folder, next to `run.json`. */
  readonly files: readonly string[];
}

interface BodyOptions {
  /** Whether the page of all runs links to this one. */
  readonly isIndexed?: boolean;
  /** Whether the page follows its run, which then has not stopped if it is not finished. */
  readonly isLive?: boolean;
}

export interface RunPageOptions extends Pick<BodyOptions, 'isIndexed'> {
  /** The line at the top of a page that follows its run. */
  readonly liveLine?: string | undefined;
}

export function runPage(
  record: RunRecord,
  content: RunContent,
  { isIndexed = false, liveLine }: RunPageOptions = {},
): string {
  return htmlPage({
    title: `${content.title}: ${record.runId}`,
    body: runBody(record, content, { isIndexed, isLive: liveLine !== undefined }),
    charts: chartsOf(record, content),
    liveLine,
  });
}

/** The charts whose canvases are in `runBody`. */
export function chartsOf({ timeline }: RunRecord, { charts }: RunContent): readonly Chart[] {
  return [...charts.map(({ chart }) => chart), ...(timeline ? timelineCharts(timeline) : [])];
}

/** The content of `main`. While a run goes on, what happens comes before what was found. */
export function runBody(
  record: RunRecord,
  content: RunContent,
  { isIndexed = false, isLive = false }: BodyOptions = {},
): Html {
  const [main, ...further] = content.charts;
  const section = (one: ChartWithTable): Html => chartSection(one);
  const isRunning = isLive && record.state === 'running';
  // A long table first would hide the results after it.
  const tables = [
    ...content.tables.filter((table) => !isLong(table)),
    ...content.tables.filter(isLong),
  ];
  return html`
    ${pageTop(content, isRunning)} ${isRunning ? timelineSection(record, NOW) : null}
    ${isRunning ? SO_FAR : doubts(record, content)}
    ${main === undefined ? null : chartSection(main, 'tall')}
    ${aboutRun(record, content, isIndexed)}
    ${isRunning ? null : html`${limitationsSection(record)} ${isSound(record) ? content.opening : null}`}
    ${targetsSection(record)} ${further.map(section)} ${tables.map(tableSection)}
    ${isRunning ? null : timelineSection(record, PAST)}
    ${runSection(record, linksTo(filesOf(content), 'Files of this run'))}
  `;
}

const SO_FAR = html`<p>
  Below is what was found so far. The limitations of the run and the verdict of its checks follow at
  its end.
</p>`;

/** A run that has no result says so before anything else, and so does one that is doubtful. */
function doubts(record: RunRecord, { opening }: RunContent): Html {
  const sentences = doubtsOf(record);
  if (sentences.length === 0) return isSound(record) ? html`` : opening;
  return html`
    ${isSound(record) ? null : opening}
    <section class="doubts">
      <h2>Doubtful</h2>
      <ul>
        ${sentences.map((sentence) => html`<li>${sentence}</li>`)}
      </ul>
    </section>
  `;
}

/** What makes the run doubtful: its machine, its code, or that it disagrees with itself. */
export function doubtsOf(record: RunRecord): readonly string[] {
  const { doubts: told, targets, limitations: all, environment } = record;
  const again = targets.filter(({ name, met }) => name.endsWith(AGAIN) && met === false);
  return [
    ...(told ?? all.filter(isOldDoubt)),
    ...(environment.commit?.dirty === true ? [CODE_DIFFERED] : []),
    ...again.map(
      ({ name, measured }) =>
        `The run disagrees with itself: ${name.slice(0, -AGAIN.length)} was ${measured} when it was measured a second time.`,
    ),
  ];
}

const CODE_DIFFERED = 'The code differed from its commit when the run was made.';

/** How the target of a number that is measured a second time ends. */
const AGAIN = ', measured again';

/** A record that is older than its field of doubts has this one among its limitations. */
function isOldDoubt(limitation: string): boolean {
  return limitation.startsWith('The machine was busy with other work when the run began');
}

function isSound({ findings }: RunRecord): boolean {
  return findings.check.passed;
}

const NOW = html`<p class="small">The latest second is at the right edge.</p>`;

const PAST = html`<p class="small">
  What its page showed while it went on. A long run has fewer points: each is the mean, or of
  latencies and of what waits the most, of some seconds.
</p>`;

/** The charts of a watched run; each has its numbers in the record alone. */
function timelineSection({ timeline }: RunRecord, words: Html): Html {
  if (!timeline || timeline.panels.length === 0) return html``;
  return html`<section id="timeline">
    <h2>The run, second by second</h2>
    ${words}
    <div class="panels">${timelineCharts(timeline).map(panelOf)}</div>
  </section>`;
}

function panelOf(chart: Chart): Html {
  return html`<div>
    <h3>${chart.title}</h3>
    ${chartWithSwitches({ chart })}
  </div>`;
}

/** One sentence stands over the figure; what else was found, and where, is below it. */
function pageTop(
  { kicker, title, headline, tables, charts }: RunContent,
  isRunning: boolean,
): Html {
  const isEmpty = tables.length === 0 && charts.length === 0;
  const [first] = sentencesOf(headline);
  const words = isRunning && isEmpty ? 'Nothing has been found yet: the run goes on.' : first;
  return pageHeader({ kicker, title, headline: words });
}

/** A first sentence shorter than this only says what was done. */
const FINDING_LENGTH_MIN = 70;

/** The first sentence, or two if the first one is short, and the rest of a text. */
function sentencesOf(text: string): readonly [first: string, rest: string] {
  const ends = [...text.matchAll(/[.!?](?= [A-Z0-9])/g)].map(({ index }) => index);
  const end = ends.find((at) => at >= FINDING_LENGTH_MIN) ?? text.length;
  return [text.slice(0, end + 1), text.slice(end + 1).trim()];
}

function aboutRun(record: RunRecord, { kicker, headline }: RunContent, isIndexed: boolean): Html {
  const [, rest] = sentencesOf(headline);
  return html`<section class="about">
    ${rest === '' ? null : html`<p class="headline">${rest}</p>`} ${chipList(runChips(record))}
    ${linksTo(linksOf(kicker, isIndexed), 'This page')}
  </section>`;
}

function linksOf(kicker: string, isIndexed: boolean): readonly PageLink[] {
  return [
    ...(isIndexed ? [{ text: 'All figures and runs', to: ALL_FIGURES }] : []),
    { text: paperText(kicker), to: PAPER_ADDRESS },
    { text: 'The record (JSON)', to: 'run.json' },
    { text: 'All files of this run', to: '#run' },
  ];
}

/** Only a kicker such as "Percolator paper, figure 7" names a place in the paper. */
function paperText(kicker: string): string {
  const [, place] = /^Percolator paper, (.+)$/.exec(kicker) ?? [];
  return place === undefined ? 'The Percolator paper' : `In the paper: ${place}`;
}

/** From a folder in `results/runs`. */
const ALL_FIGURES = '../../index.html';

function filesOf({ files }: RunContent): readonly PageLink[] {
  return ['run.json', ...files].map((file) => ({ text: file, to: file }));
}

/* Sections that every page of a run has: limitations, targets, and the record itself. */

function limitationsSection(record: RunRecord): Html {
  const sentences = limitations(record);
  if (sentences.length === 0) return html``;
  return html`<section class="limitations">
    <h2>Limitations</h2>
    <ul>
      ${sentences.map((sentence) => html`<li>${sentence}</li>`)}
    </ul>
  </section>`;
}

/** The run's own limitations, after those derived from its record. */
export function limitations(record: RunRecord): readonly string[] {
  const own = record.limitations.filter((one) => record.doubts || !isOldDoubt(one));
  return [...derivedLimitations(record), ...own];
}

function derivedLimitations(record: RunRecord): readonly string[] {
  const { commit } = record.environment;
  const found: readonly (string | null)[] = [
    record.state === 'finished'
      ? null
      : 'The run did not finish; the numbers below are those it had measured.',
    spreadOf(record),
    commit === null
      ? 'The run was not made from a git checkout; its code is not identified.'
      : null,
  ];
  return found.filter((sentence) => sentence !== null);
}

/**
 * The sentence about the spread between runs; a simulation differs only from one seed to another,
 * and a proof measures nothing.
 */
function spreadOf(record: RunRecord): string | null {
  if (record.label !== 'exploratory' || isProof(record)) return null;
  return isVirtual(record)
    ? 'Each point was simulated once: the same seed gives the same numbers, and how far those of other seeds differ is unknown.'
    : 'Each point was measured once, so the spread between runs is unknown: the run is exploratory.';
}

function isProof({ findings }: RunRecord): boolean {
  return findings.kind === 'proof';
}

export function targetsSection({ targets }: RunRecord): Html {
  if (targets.length === 0) return html``;
  const judged = targets.filter(({ met }) => met !== null);
  const met = judged.filter((target) => target.met).length;
  const unjudged = targets.length - judged.length;
  return tableSection({
    name: 'targets',
    hasCards: true,
    title:
      judged.length === 0
        ? 'Targets: none judged'
        : `Targets: ${met} of ${judged.length} met` +
          (unjudged > 0 ? `, ${unjudged} not judged` : ''),
    caption: 'What the project set out to reach, and what this run measured.',
    columns: ['Target', 'Asked for', 'Measured', 'Verdict'],
    rows: targets.map((target) => [
      target.name,
      target.target,
      target.measured,
      verdictCell(target),
    ]),
  });
}

function verdictCell(target: Target): string | Html {
  const words = targetVerdict(target);
  if (target.met !== null) return verdict(target.met, words);
  return `${words}: ${target.reason ?? 'the load did not ask for it'}`;
}

/** @param files links to the files of the run's folder */
export function runSection(record: RunRecord, files: Html): Html {
  const { environment: place, store } = record;
  const facts: readonly (readonly [string, string | Html])[] = [
    ['Run', html`<code>${record.runId}</code>`],
    ['Repeat it with', html`<code>${record.commandLine}</code>`],
    ['Seed', seedText(record)],
    ['Repeats of each point', String(record.repeats)],
    ['Profile', record.profile],
    ['Started', record.startedAt],
    ['Finished', record.finishedAt ?? 'not finished'],
    ['Store', `${store.name}. ${sentenceOf(store.durability)}`],
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
    <h3>Files of this run</h3>
    ${files}
  </section>`;
}

/** The text with a full stop at its end: a text of a record is a clause, or a whole sentence. */
export function ended(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function sentenceOf(clause: string): string {
  return clause.charAt(0).toUpperCase() + ended(clause.slice(1));
}

/** A run without a random choice has the seed 0, and none among its parameters. */
function seedText({ seed, parameters }: RunRecord): string {
  return seed === 0 && parameters['seed'] === undefined ? 'none' : String(seed);
}

function commitText(commit: RunRecord['environment']['commit']): Html {
  if (commit === null) return html`unknown`;
  return html`<code>${commit.hash}</code>${commit.dirty ? ', with changes' : null}`;
}

/** Short facts about a run, for the line below its headline. */
export function runChips(record: RunRecord): readonly string[] {
  const { environment: place, state } = record;
  return [
    `${record.profile} profile`,
    ...(isProof(record) ? [] : [repeatsText(record)]),
    // In a comparison, the store's name lists all systems, and some of them are not stores.
    record.store.name.includes(',') ? record.store.name : `store: ${record.store.name}`,
    // The cores and the memory decide nothing in a simulation.
    ...(isVirtual(record) ? [] : [`${place.cores} cores, ${memoryText(place.memoryBytes)}`]),
    record.startedAt.slice(0, 10),
    ...(state === 'finished' ? [] : [`run ${state}, not finished`]),
  ];
}

function repeatsText(record: RunRecord): string {
  if (record.repeats > 1) return `${record.repeats} repeats`;
  return isVirtual(record) ? 'one seed' : 'one repeat: exploratory';
}

function memoryText(bytes: number): string {
  return `${formatDigits(bytes / 2 ** 30)} GiB`;
}

function parameterText(value: RunRecord['parameters'][string] | undefined): string {
  if (value === null || value === undefined) return 'not set';
  return typeof value === 'object' ? value.join(', ') : String(value);
}
