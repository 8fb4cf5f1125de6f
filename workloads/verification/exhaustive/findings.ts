/** The findings of `./run.sh exhaust`, for the report. */
import { sum } from 'simple-statistics';
import { counted, verdictOf } from '#harness';
import { column, type FindingsParts, type ResultTable, resultTable } from '#results';
import type { Budget, SearchFailure, SearchReport } from './index.ts';
import { commandOf, type PlannedSearch } from './searches.ts';

/** A search that has ended. */
export interface Searched {
  readonly search: PlannedSearch;
  readonly report: SearchReport;
  readonly seconds: number;
  /** To its failure, as `./run.sh explore --link` takes it; absent if the explorer has none. */
  readonly link?: string | undefined;
}

/**
 * @param planned searches that were to be made
 * @param last the search during which an interrupt came; it counts if it had found something by
 *   then, or visited everything
 */
export function findingsOf(
  ended: readonly Searched[],
  planned: number,
  last?: Searched,
): FindingsParts {
  const all = last === undefined ? ended : [...ended, last];
  const whole = last === undefined || isDecided(last) ? all : ended;
  const states = sum(whole.map(({ report }) => report.states));
  return {
    headline: `${counted(whole.length, 'searches')} visited ${counted(states, 'states')} of the world.`,
    check: verdictOf({
      unit: 'searches',
      planned,
      done: whole.length,
      fault: 'broke a rule or was cut short',
      found: whole.flatMap(faultsOf),
    }),
    tables: [
      searchTable(all),
      ...whole.flatMap(({ search, report: { failure }, link }) =>
        failure === undefined ? [] : [storyTable(search, failure, link)],
      ),
    ],
    charts: [],
    targets: [],
  };
}

function isDecided({ report: { isExhausted, failure } }: Searched): boolean {
  return isExhausted || failure !== undefined;
}

function faultsOf({ search, report: { isExhausted, failure } }: Searched): readonly string[] {
  const { statesMax } = search;
  const claims = (failure?.violations ?? []).map(({ claim }) => claim);
  const short = isExhausted || claims.length > 0 ? [] : [`cut short by --max-states ${statesMax}`];
  const faults = [...claims, ...short].join(', ');
  return faults === '' ? [] : [`${nameOf(search)} (${faults})`];
}

/** Names duplicates or lost answers: a scenario may be searched once with each (searches.ts). */
function nameOf({ scenario, suspicion, budget }: PlannedSearch): string {
  return [scenario.name, `suspicion ${suspicion}`, ...messageFaults(budget)].join(', ');
}

function messageFaults({ copies, lostAnswers }: Budget): readonly string[] {
  return [...(copies > 0 ? ['duplicates'] : []), ...(lostAnswers > 0 ? ['lost answers'] : [])];
}

function searchTable(searched: readonly Searched[]): ResultTable {
  return resultTable(
    {
      name: 'searches',
      title: 'Everything that can happen',
      caption:
        'One search in each line. Suspicion: the processes that are presumed dead. Crashes, duplicates and lost ' +
        'answers: how many there may be. Executions: the different ways through the states.',
    },
    searched,
    [
      column('scenario', ({ report }) => report.scenario),
      column('suspicion', ({ search }) => search.suspicion),
      column('crashes', ({ search }) => search.budget.crashes),
      column('duplicates', ({ search }) => search.budget.copies),
      column('lost', ({ search }) => search.budget.lostAnswers),
      column('executions', ({ report }) => executionsText(report)),
      column('states', ({ report }) => report.states),
      column('seconds', ({ seconds }) => seconds.toFixed(1)),
      column('exhausted', ({ report }) => (report.isExhausted ? 'yes' : 'no')),
      column('violations', ({ report }) => report.failure?.violations.length ?? 0),
    ],
  );
}

function executionsText({ executions, isExhausted }: SearchReport): string {
  const count = executions < 1e6 ? executions.toLocaleString('en') : executions.toPrecision(2);
  return isExhausted ? count : `> ${count}`;
}

function storyTable(
  search: PlannedSearch,
  failure: SearchFailure,
  link: string | undefined,
): ResultTable {
  const { scenario, suspicion, budget } = search;
  const name = ['story', scenario.name, suspicion, ...messageFaults(budget)].join('-');
  return resultTable(
    {
      name: name.replaceAll(' ', '-'),
      title: `What happened in ${nameOf(search)}`,
      caption:
        'The first execution that breaks a rule, the command that tells it again, and, where the explorer can ' +
        'show it, the one that opens it there.',
    },
    [
      ...storyLines(failure),
      `${commandOf(search)} --replay ${failure.choices.join('.')}`,
      ...linkLines(link),
    ],
    [column('event', (line) => line)],
  );
}

export function linkLines(link: string | undefined): readonly string[] {
  return link === undefined ? [] : [`./run.sh explore --link ${link}`];
}

export function storyLines({ violations, story }: SearchFailure): readonly string[] {
  const lines = story.map((line, i) => `${String(i + 1).padStart(4)}  ${line}`);
  const wrong = violations.map(({ claim, message }) => `  ${claim}: ${message}`);
  return [...lines, '', ...wrong];
}
