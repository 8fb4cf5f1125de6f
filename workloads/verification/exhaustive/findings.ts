/** The findings of `./run.sh exhaust`, for the report. */
import { counted, verdictOf } from '#harness';
import type { FindingsParts, ResultTable } from '#results';
import type { Budget, Failure, Report } from './index.ts';
import { commandOf, type Search } from './searches.ts';

/** A search that has ended. */
export interface Searched {
  readonly search: Search;
  readonly report: Report;
  readonly seconds: number;
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
  const states = whole.reduce((sum, { report }) => sum + report.states, 0);
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
      ...whole.flatMap(({ search, report: { failure } }) =>
        failure === undefined ? [] : [storyTable(search, failure)],
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
function nameOf({ scenario, suspicion, budget }: Search): string {
  return [scenario.name, `suspicion ${suspicion}`, ...messageFaults(budget)].join(', ');
}

function messageFaults({ copies, lostAnswers }: Budget): readonly string[] {
  return [...(copies > 0 ? ['duplicates'] : []), ...(lostAnswers > 0 ? ['lost answers'] : [])];
}

function searchTable(searched: readonly Searched[]): ResultTable {
  return {
    name: 'searches',
    title: 'Everything that can happen',
    caption:
      'One search in each line. Suspicion: the processes that are taken for dead. Crashes, duplicates and lost ' +
      'answers: how many there may be. Executions: the different ways through the states.',
    columns: [
      'scenario',
      'suspicion',
      'crashes',
      'duplicates',
      'lost',
      'executions',
      'states',
      'seconds',
      'exhausted',
      'violations',
    ],
    rows: searched.map(({ search: { suspicion, budget }, report, seconds }) => [
      report.scenario,
      suspicion,
      budget.crashes,
      budget.copies,
      budget.lostAnswers,
      executionsText(report),
      report.states,
      seconds.toFixed(1),
      report.isExhausted ? 'yes' : 'no',
      report.failure?.violations.length ?? 0,
    ]),
  };
}

function executionsText({ executions, isExhausted }: Report): string {
  const count = executions < 1e6 ? executions.toLocaleString('en') : executions.toPrecision(2);
  return isExhausted ? count : `> ${count}`;
}

function storyTable(search: Search, failure: Failure): ResultTable {
  const { scenario, suspicion, budget } = search;
  const name = ['story', scenario.name, suspicion, ...messageFaults(budget)].join('-');
  return {
    name: name.replaceAll(' ', '-'),
    title: `What happened in ${nameOf(search)}`,
    caption: 'The first execution that breaks a rule, and the command that tells it again.',
    columns: ['event'],
    rows: [
      ...storyLines(failure),
      `${commandOf(search)} --replay ${failure.choices.join('.')}`,
    ].map((line) => [line]),
  };
}

export function storyLines({ violations, story }: Failure): readonly string[] {
  const lines = story.map((line, i) => `${String(i + 1).padStart(4)}  ${line}`);
  const wrong = violations.map(({ claim, message }) => `  ${claim}: ${message}`);
  return [...lines, '', ...wrong];
}
