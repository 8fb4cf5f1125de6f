/**
 * The page of all figures and runs, made from the records in results/reference and results/runs:
 * the paper's claims with what was measured, each figure with its reference and the latest run of
 * this machine, and an index of all runs.
 *
 * A reader who opens one file sees what this project found, and gets from there to every record.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Chart } from '../charts/chart.ts';
import { counted } from '../charts/format.ts';
import { HEADLINE_SAMPLES_MIN } from '../histogram.ts';
import { chartWithSwitches, type ChartWithTable } from '../page/chart-section.ts';
import { chipList, htmlPage, linksTo, pageHeader, PAPER_ADDRESS } from '../page/html-page.ts';
import { html, type Html } from '../page/html.ts';
import { runChips, type RunContent } from '../page/run-page.ts';
import { type Cell, type PageTable, tableSection } from '../page/table.ts';
import { buildPage, findingsContent, PAGE_FILE } from '../report.ts';
import { findRuns, type FoundRun, REFERENCE_FOLDER, RUNS_FOLDER } from '../run-folders.ts';
import type { RunRecord } from '../run-record.ts';
import { writeFileAtomically } from '../write-file.ts';
import { type Claim, claimsOf, numberIn, type RecordsByExperiment } from './claims.ts';

/** The reference runs of experiments of the paper; others are of tools and benches. */
const SHOWN = /^(?:figure-\d+|web-index)$/;

interface Roots {
  readonly runs: string;
  readonly reference: string;
}

/**
 * Writes `index.html` into `folder`, and returns its path. A damaged run is in the index with the
 * reason, and is not shown elsewhere. The pages of reference runs, which are not in git, are made
 * where they are missing, or all of them.
 */
export function buildAll(
  folder: string,
  roots: Roots = { runs: RUNS_FOLDER, reference: REFERENCE_FOLDER },
  pages: 'all' | 'missing' = 'missing',
): string {
  const [reference, runs] = [readRuns(roots.reference), readRuns(roots.runs)];
  for (const { run } of reference) {
    const isThere = existsSync(path.join(run.folder, PAGE_FILE));
    if (run.record !== null && (pages === 'all' || !isThere)) buildPage(run.folder);
  }
  const figures = reference
    .filter(({ run }) => SHOWN.test(run.name))
    .toSorted((a, b) => a.run.name.localeCompare(b.run.name, 'en', { numeric: true }))
    .flatMap(({ shown }) => (shown === null ? [] : [figureOf(shown, runs)]));
  const index = { reference: reference.map(({ run }) => run), runs: runs.map(({ run }) => run) };
  const file = path.join(folder, 'index.html');
  writeFileAtomically(file, allPage({ figures, ...index }, path.resolve(folder)));
  return file;
}

/**
 * Makes the page of all runs again, to which the pages in results/runs link. The script that
 * measured or removed a run does not fail if the page cannot be made; `./run.sh report --all` says
 * why.
 */
export function refreshAll(): void {
  try {
    buildAll(path.dirname(RUNS_FOLDER));
  } catch {
    // The old page stays.
  }
}

interface ReadRun {
  readonly run: FoundRun;
  /** Null for a run that is damaged or has not finished. */
  readonly shown: ShownRun | null;
}

/** The newest first. */
function readRuns(root: string): readonly ReadRun[] {
  return findRuns(root).map(readRun);
}

function readRun(run: FoundRun): ReadRun {
  const { record } = run;
  if (record?.state !== 'finished') return { run, shown: null };
  return { run, shown: { run, record, content: findingsContent(record.findings, record.state) } };
}

function figureOf(reference: ShownRun, runs: readonly ReadRun[]): Figure {
  const { experiment } = reference.record;
  const drawn = runs
    .flatMap(({ shown }) => shown ?? [])
    .filter(({ record, content }) => record.experiment === experiment && content.charts.length > 0);
  const latest = drawn[0] ?? null;
  const judging = drawn.find(({ record }) => record.profile !== 'smoke') ?? null;
  return { name: reference.run.name, reference, latest, judging };
}

/* What the page shows. */

/** A run that is shown with its main chart. */
interface ShownRun {
  readonly run: FoundRun;
  readonly record: RunRecord;
  readonly content: RunContent;
}

/** An experiment of the paper: one of its figures, or the web index. */
interface Figure {
  /** Also names its place on the page: `figure-7`. */
  readonly name: string;
  readonly reference: ShownRun;
  /** The latest finished run of this experiment here that has a chart; null if there is none. */
  readonly latest: ShownRun | null;
  /**
   * The latest such run that is not a smoke run: a smoke run is too small to judge a claim by it.
   */
  readonly judging: ShownRun | null;
}

export interface AllRuns {
  readonly figures: readonly Figure[];
  readonly reference: readonly FoundRun[];
  /** The newest first. */
  readonly runs: readonly FoundRun[];
}

/** @param folder where the page will be: all its links start from there */
function allPage({ figures, reference, runs }: AllRuns, folder: string): string {
  const shown = figures.flatMap((figure) => shownIn(figure, folder));
  const claims = claimsOf(
    recordsOf(
      figures.map((figure) => figure.reference),
      reference,
    ),
  );
  return htmlPage({
    title: 'All figures and runs of percolator-bench',
    charts: shown.flatMap(({ main }): readonly Chart[] => (main === null ? [] : [main.chart])),
    body: html`
      ${pageHeader({
        kicker: 'percolator-bench',
        title: 'All figures and runs',
        headline: headlineWith(claims),
        chips: [
          counted(figures.length, 'experiments'),
          `${counted(runs.length, 'runs')} measured here`,
        ],
        links: [
          { text: 'The paper’s claims', to: '#claims' },
          ...figures.map(({ name, reference: { content } }) => ({
            text: placeOf(content.kicker),
            to: `#${name}`,
          })),
          { text: 'All runs', to: '#runs' },
          { text: 'The paper', to: PAPER_ADDRESS },
        ],
      })}
      <div id="claims">${tableSection(claimsTable(claims, figures, runs))}</div>
      ${figures.map((figure) => figureSection(figure, shown))}
      <div id="runs">
        ${tableSection(runsTable('Runs measured here', runs, folder))}
        ${tableSection(runsTable('Reference runs', reference, folder))}
      </div>
    `,
  });
}

function headlineWith(claims: readonly Claim[]): string {
  const found = claims.flatMap(({ finding }) => finding?.verdict ?? []);
  // A run with higher rates may find the rate at which a system stops keeping up, and one with
  // another schedule, or a longer one, may judge its system.
  const isOpen = (verdict: string): boolean => /^(?:not (?:reached|judged)|too few)/.test(verdict);
  const verdicts = found.filter((verdict) => !isOpen(verdict));
  const whole = verdicts.filter((verdict) => verdict === 'holds').length;
  const part = verdicts.filter((verdict) => verdict.startsWith('holds')).length - whole;
  const failing = verdicts.length - whole - part;
  const open = claims.length - verdicts.length;
  return (
    `Of the paper’s ${claims.length} claims, the reference runs confirm ${whole} as stated and ` +
    `${part} in part (by less, later, or on one store); ${failing} ` +
    `${failing === 1 ? 'does' : 'do'} not hold here, and ${open} ${open === 1 ? 'is' : 'are'} ` +
    'still open.'
  );
}

function claimsTable(
  claims: readonly Claim[],
  figures: readonly Figure[],
  runs: readonly FoundRun[],
): PageTable {
  const judging = figures.flatMap((figure) => figure.judging ?? []);
  const here = judging.length === 0 ? null : claimsOf(recordsOf(judging, runs));
  return {
    name: 'claims',
    hasCards: true,
    title: 'The paper’s claims',
    caption:
      'Every verdict is a rule applied to the number before it, if that rests on at least ' +
      `${HEADLINE_SAMPLES_MIN} samples. One machine is not a cluster: compare shapes, not ` +
      'positions.' +
      (here === null
        ? ''
        : ' The verdicts of this machine are those of each experiment’s latest run that is not a smoke run.'),
    columns: [
      'The paper says',
      'The paper',
      'Holds if',
      'Reference',
      'Verdict',
      ...(here === null ? [] : ['Latest judged run here', 'Verdict']),
      'Command',
    ],
    rows: claims.map((claim, i): readonly Cell[] => [
      html`<div class="long">${claim.says}</div>`,
      claim.paper,
      claim.holdsIf,
      ...findingCells(claim),
      ...(here === null ? [] : findingCells(here[i] ?? claim)),
      html`<code>./run.sh ${claim.script}</code>`,
    ]),
  };
}

function findingCells({ finding }: Claim): readonly Cell[] {
  return finding === null ? ['not measured', 'open'] : [finding.measured, finding.verdict];
}

/** @param all among which the newest run of figure 8 on HBase is looked for */
function recordsOf(shown: readonly ShownRun[], all: readonly FoundRun[]): RecordsByExperiment {
  const onHBase = all.find(isOnHBase)?.record;
  return new Map([
    ...shown.map(({ record }) => [record.experiment, record] as const),
    ...(onHBase == null ? [] : [['micro-hbase', onHBase] as const]),
  ]);
}

/** With one caller, figure 8 measures latency, not throughput. */
function isOnHBase({ record, damage }: FoundRun): boolean {
  if (damage !== null || record?.experiment !== 'micro' || record.profile === 'smoke') return false;
  const isMeasured = numberIn(record, 'figure-8', 'relative', 'hbase', 'read') !== null;
  return record.state === 'finished' && record.parameters['concurrency'] !== 1 && isMeasured;
}

/**
 * A run on this page. The main charts of a figure's two runs have one name; on this page each gets
 * a name of its own.
 */
interface OnPage {
  readonly figure: string;
  readonly heading: string;
  readonly shown: ShownRun;
  readonly main: ChartWithTable | null;
  /** From the page to the folder of the run. */
  readonly to: string;
}

function shownIn({ name, reference, latest }: Figure, folder: string): readonly OnPage[] {
  const entry = (kind: string, heading: string, shown: ShownRun): OnPage => {
    const to = addressOf(shown.run.folder, folder);
    const [main] = shown.content.charts;
    return {
      figure: name,
      heading,
      shown,
      main: main ? moved(main, `${name}-${kind}`, to) : null,
      to,
    };
  };
  return [
    entry('reference', 'Reference', reference),
    ...(latest === null ? [] : [entry('latest', 'Latest run here', latest)]),
  ];
}

/** The chart under another name, with the addresses of its files as seen from this page. */
function moved({ chart, table }: ChartWithTable, name: string, to: string): ChartWithTable {
  const file = table.file === undefined ? {} : { file: `${to}/${table.file}` };
  return {
    chart: { ...chart, name },
    table: { ...table, ...file, name: `${name}-${table.name}` },
  };
}

/** "Percolator paper, figure 7" is "Figure 7" here. */
function placeOf(kicker: string): string {
  return kicker.replace(/^Percolator paper, (.)/, (_, first: string) => first.toUpperCase());
}

function figureSection({ name, reference, latest }: Figure, shown: readonly OnPage[]): Html {
  const { kicker, title } = reference.content;
  return html`<section id="${name}">
    <h2>${placeOf(kicker)}: ${title}</h2>
    ${shown.filter(({ figure }) => figure === name).map(runOfFigure)}
    ${
      latest === null
        ? html`<p class="small">
            It has not been measured here yet:
            <code>./run.sh ${`bench:${reference.record.experiment}`}</code>
          </p>`
        : null
    }
  </section>`;
}

function runOfFigure({ heading, shown, main, to }: OnPage): Html {
  const { record, content } = shown;
  return html`<h3>${heading}</h3>
    <p>${content.headline}</p>
    ${chipList(runChips(record))}
    ${linksTo(
      [
        { text: 'Its page', to: `${to}/report.html` },
        { text: 'Its record (JSON)', to: `${to}/run.json` },
      ],
      `${content.title}, ${heading}`,
    )}
    ${main === null ? null : chartWithSwitches(main)}`;
}

function runsTable(title: string, runs: readonly FoundRun[], folder: string): PageTable {
  return {
    name: title.toLowerCase().replaceAll(' ', '-'),
    title,
    caption:
      runs.length === 0
        ? 'There are none yet.'
        : 'The newest first. ./run.sh compare shows how two of them differ.',
    columns: ['Run', 'Experiment', 'Profile', 'State', 'Commit', 'Started', 'Finding', 'Record'],
    rows: runs.map((run) => runRow(run, addressOf(run.folder, folder))),
  };
}

function runRow({ name, folder, record, damage }: FoundRun, to: string): readonly Cell[] {
  const hasPage = existsSync(path.join(folder, 'report.html'));
  return [
    hasPage ? html`<a class="whole" href="${to}/report.html">${name}</a>` : name,
    html`<span class="whole">${record?.experiment ?? null}</span>`,
    record?.profile ?? null,
    damage === null ? (record?.state ?? null) : 'damaged',
    record?.environment.commit?.hash.slice(0, 7) ?? null,
    html`<span class="whole">${record?.startedAt.slice(0, 16).replace('T', ' ') ?? null}</span>`,
    html`<div class="long">${damage ?? (record && firstSentence(record.findings.headline))}</div>`,
    html`<a href="${to}/run.json">JSON</a>`,
  ];
}

/** The rest is on the page of the run. */
function firstSentence(text: string): string {
  return /^.*?\.(?= [A-Z]|$)/.exec(text)?.[0] ?? text;
}

/** A relative address; the names of folders may hold any character. */
function addressOf(target: string, from: string): string {
  return path.relative(from, target).split(path.sep).map(encodeURIComponent).join('/');
}
