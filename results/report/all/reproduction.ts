/**
 * Did a reader find what the reference runs found? One verdict for each claim of the paper, and the
 * page of all of them.
 *
 *     as the paper      the claim holds as the paper states it
 *     as the reference  it does not, or by less, and each number is within the tolerance
 *     MISSED            neither; or a run that it rests on failed, or its own check did
 *     not judged        the run is too small, or did not reach what the claim is about
 *     not run           with the reason
 *
 * A claim that the reference itself does not confirm can be reproduced, too: what counts is that
 * two machines agree.
 */
import { counted } from '../charts/format.ts';
import { htmlPage, linksTo, pageHeader, PAPER_ADDRESS } from '../page/html-page.ts';
import { html, type Html } from '../page/html.ts';
import { doubtsOf } from '../page/run-page.ts';
import { type Cell, tableSection, verdict as colored } from '../page/table.ts';
import type { RunRecord } from '../run-record.ts';
import { type Claim, claimsOf, type Finding, type Tolerance } from './claims.ts';
import type { ExperimentName } from './experiments.ts';

export interface Reproduced {
  readonly id: string;
  readonly says: string;
  readonly paper: string;
  /** Null if there is none. */
  readonly reference: string | null;
  readonly yours: string | null;
  readonly tolerance: string;
  readonly verdict: ReproducedVerdict;
  /** Why a claim was missed, not judged or not run; null if it needs no reason. */
  readonly reason: string | null;
}

export type ReproducedVerdict =
  | 'as the paper'
  | 'as the reference'
  | 'MISSED'
  | 'not judged'
  | 'not run';

interface Missing {
  readonly reason: string;
  readonly hasFailed: boolean;
}

export interface Reproduction {
  readonly reference: ReadonlyMap<ExperimentName, RunRecord>;
  /** The reader's. */
  readonly yours: ReadonlyMap<ExperimentName, RunRecord>;
  /** Why there is no record of an experiment, and whether its script failed. */
  readonly missing: ReadonlyMap<ExperimentName, Missing>;
}

/** A verdict for each claim. */
export function reproductionOf({ reference, yours, missing }: Reproduction): readonly Reproduced[] {
  const theirs = claimsOf(reference);
  return claimsOf(yours).map((claim, i): Reproduced => {
    const runs = claim.experiments.map((name) => ({
      name,
      record: yours.get(name),
      missing: missing.get(name),
    }));
    const expected = theirs[i]?.finding ?? null;
    const { verdict, reason } = judged(claim, expected, runs);
    return {
      id: claim.id,
      says: claim.says,
      paper: claim.paper,
      reference: expected?.measured ?? null,
      yours: claim.finding?.measured ?? null,
      tolerance: toleranceText(claim),
      verdict,
      reason,
    };
  });
}

/** The bounds within which a claim counts as reproduced, in words. */
export function toleranceText({
  holdsIf,
  tolerance,
}: Pick<Claim, 'holdsIf' | 'tolerance'>): string {
  const { factor, better, of } = tolerance;
  const orBetter = better === 'neither' ? '' : ', or better';
  const what = of === undefined ? '' : `${of} `;
  return `${holdsIf}; else ${what}within ${factor} times of the reference${orBetter}`;
}

interface Run {
  readonly name: ExperimentName;
  readonly record: RunRecord | undefined;
  readonly missing: Missing | undefined;
}

type Judgement = Pick<Reproduced, 'verdict' | 'reason'>;

/** @param runs those that the claim rests on, the main one first */
function judged(claim: Claim, reference: Finding | null, runs: readonly Run[]): Judgement {
  const failure = runs.map(failureOf).find((reason) => reason !== null);
  if (failure !== undefined) return { verdict: 'MISSED', reason: failure };
  const [main, ...others] = runs;
  if (main?.record === undefined) {
    return { verdict: 'not run', reason: main?.missing?.reason ?? 'it was not asked for' };
  }
  const { verdict, reason } = judgedFinding(claim, reference, main.record);
  const without = others.flatMap(({ name, record, missing }) =>
    record === undefined && missing !== undefined ? [`without ${name}: ${missing.reason}`] : [],
  );
  const reasons = [...(reason === null ? [] : [reason]), ...without];
  return { verdict, reason: reasons.length === 0 ? null : reasons.join('; ') };
}

/** Null if nothing failed. A run that was cut short proves nothing, whatever it has found. */
function failureOf({ name, record, missing }: Run): string | null {
  if (missing?.hasFailed === true) return `${name} failed: ${missing.reason}`;
  if (record === undefined) return null;
  const { check } = record.findings;
  if (!check.passed) return `its check failed: ${check.detail}`;
  return record.state === 'finished' ? null : `the run of ${name} did not finish`;
}

function judgedFinding(
  { finding, tolerance }: Claim,
  reference: Finding | null,
  record: RunRecord,
): Judgement {
  if (record.profile === 'smoke') {
    return { verdict: 'not judged', reason: 'a smoke run is too small' };
  }
  if (finding === null) return { verdict: 'MISSED', reason: 'the run has no such number' };
  if (/^(?:not |too few)/.test(finding.verdict)) {
    return { verdict: 'not judged', reason: finding.verdict };
  }
  if (finding.verdict === 'holds') return { verdict: 'as the paper', reason: null };
  const far = tooFar(finding, reference, tolerance);
  return far === null
    ? { verdict: 'as the reference', reason: null }
    : { verdict: 'MISSED', reason: far };
}

/** Why the numbers are not those of the reference; null if they are. */
function tooFar(
  { numbers }: Finding,
  reference: Finding | null,
  { factor, better }: Tolerance,
): string | null {
  const expected = reference?.numbers ?? {};
  const compared = Object.keys(numbers).filter((name) => expected[name] !== undefined);
  if (compared.length === 0) {
    const whose = Object.keys(numbers).length === 0 ? 'your run' : 'the reference';
    return `${whose} has no number to compare`;
  }
  const far = compared.find((name) => {
    const times = (numbers[name] ?? Number.NaN) / (expected[name] ?? Number.NaN);
    const [low, high] = [times * factor >= 1, times <= factor];
    return !(better === 'higher' ? low : better === 'lower' ? high : low && high);
  });
  return far === undefined ? null : `its number (${far}) is outside of the tolerance`;
}

/** "3 of 10 claims as the paper, 4 as the reference, 1 MISSED, 2 not run." */
export function summaryOf(rows: readonly Reproduced[]): string {
  const kinds = [...Map.groupBy(rows, ({ verdict }) => verdict)];
  const parts = kinds.map(([verdict, some]) => `${some.length} ${verdict}`);
  return `${counted(rows.length, 'claims')} of the paper: ${parts.join(', ')}.`;
}

export const REPRODUCTION_COLUMNS = [
  'Claim',
  'Paper',
  'Reference',
  'Yours',
  'Tolerance',
  'Verdict',
] as const;

export interface ReproducedRun {
  /** The folder of the run, from that of the page. */
  readonly to: string;
  readonly record: RunRecord;
}

/** One page: the claims, and the runs that they rest on. */
export function reproductionPage(
  rows: readonly Reproduced[],
  runs: readonly ReproducedRun[],
): string {
  const [first] = runs;
  const commit = first?.record.environment.commit ?? null;
  return htmlPage({
    title: 'The paper’s claims, reproduced',
    charts: [],
    body: html`
      ${pageHeader({
        kicker: 'percolator-bench',
        title: 'The paper’s claims, reproduced',
        headline: summaryOf(rows),
        chips: [
          commit === null
            ? 'the code is of no known commit'
            : `commit ${commit.hash.slice(0, 7)}${commit.dirty ? ', with changes' : ''}`,
          ...(first === undefined
            ? []
            : [`${first.record.environment.cores} cores`, first.record.startedAt.slice(0, 10)]),
        ],
        links: [{ text: 'The paper', to: PAPER_ADDRESS }],
      })}
      ${doubtsSection(runs)}
      ${tableSection({
        name: 'reproduction',
        hasCards: true,
        title: 'Claim by claim',
        caption:
          'A claim is reproduced if it holds as the paper states it, or else if your numbers are ' +
          'those of the reference run, within the tolerance.',
        columns: [...REPRODUCTION_COLUMNS],
        rows: rows.map(pageRow),
      })}
      <section>
        <h2>Your runs</h2>
        ${runs.map(runLine)}
      </section>
    `,
  });
}

/** What makes a run doubtful comes before the verdicts that rest on it. */
function doubtsSection(runs: readonly ReproducedRun[]): Html | null {
  const sentences = runs.flatMap(({ record }) =>
    doubtsOf(record).map((doubt) => `${record.findings.title}: ${doubt}`),
  );
  if (sentences.length === 0) return null;
  return html`<section class="doubts">
    <h2>Doubtful</h2>
    <ul>
      ${sentences.map((sentence) => html`<li>${sentence}</li>`)}
    </ul>
  </section>`;
}

function pageRow({
  says,
  paper,
  reference,
  yours,
  tolerance,
  ...row
}: Reproduced): readonly Cell[] {
  const words = row.reason === null ? row.verdict : `${row.verdict}: ${row.reason}`;
  const isOpen = row.verdict.startsWith('not ');
  return [
    html`<div class="long">${says}</div>`,
    paper,
    reference ?? 'not measured',
    yours ?? 'not measured',
    html`<div class="long">${tolerance}</div>`,
    isOpen ? words : colored(row.verdict !== 'MISSED', words),
  ];
}

function runLine({ to, record }: ReproducedRun): Html {
  return html`<h3>${record.findings.title}</h3>
    <p>${record.findings.headline}</p>
    <p><code>${record.commandLine}</code></p>
    ${linksTo(
      [
        { text: 'Its page', to: `${to}/report.html` },
        { text: 'Its record (JSON)', to: `${to}/run.json` },
      ],
      record.findings.title,
    )}`;
}
