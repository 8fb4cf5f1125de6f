/** The findings of `./run.sh model`, for the report. */
import { sum } from 'simple-statistics';
import { counted, verdictOf } from '#harness';
import { column, type FindingsParts, type ResultTable, resultTable } from '#results';
import type { CheckOutcome } from './checker.ts';
import type { Configuration } from './configurations.ts';
import type { Trace } from './traces.ts';

export interface Checked {
  readonly configuration: Configuration;
  readonly outcome: CheckOutcome;
}

export interface CheckedTrace {
  readonly trace: Trace;
  readonly outcome: CheckOutcome;
}

/** @param hasStories whether counterexamples are told in full */
export function modelFindings(
  checked: readonly Checked[],
  planned: number,
  hasStories: boolean,
): FindingsParts {
  const wrong = checked.filter(({ configuration, outcome }) => {
    return outcome.result !== configuration.expected;
  });
  const most = Math.max(0, ...checked.map(({ outcome }) => outcome.states));
  return {
    headline: `${counted(checked.length, 'configurations')}, in up to ${counted(most, 'states')} each.`,
    check: verdictOf({
      unit: 'configurations',
      planned,
      done: checked.length,
      fault: 'came out other than expected',
      found: wrong.map(({ configuration, outcome }) => `${configuration.name} (${outcome.result})`),
    }),
    tables: [configurationTable(checked), ...(hasStories ? checked.flatMap(storyTable) : [])],
    charts: [],
    targets: [],
  };
}

function configurationTable(checked: readonly Checked[]): ResultTable {
  return resultTable(
    {
      name: 'configurations',
      title: 'What TLC found',
      caption:
        'Broken: TLC found a state that breaks a rule, after this many steps. That is expected where a mistake was put back, or an assumption was dropped.',
    },
    checked,
    [
      column('rule', ({ configuration }) => configuration.rule),
      column('configuration', ({ configuration }) => configuration.name),
      column('expected', ({ configuration }) => configuration.expected),
      column('result', ({ outcome }) => outcome.result),
      column('states', ({ outcome }) => outcome.states),
      column('seconds', ({ outcome }) => outcome.seconds.toFixed(1)),
      column('steps', ({ outcome }) => (outcome.result === 'broken' ? outcome.steps.length : null)),
    ],
  );
}

/** The words of TLC: each step by its name, and the state that it leads to. */
function storyTable({ configuration: { name }, outcome }: Checked): readonly ResultTable[] {
  if (outcome.result !== 'broken') return [];
  const start = outcome.output.indexOf('State 1: ');
  const end = outcome.output.search(/^\d+ states generated/m);
  const lines = outcome.output.slice(start, end < 0 ? undefined : end).trimEnd();
  return [
    resultTable(
      {
        name: `story-${name}`,
        title: `How ${name} breaks the rule`,
        caption: 'Each step by its name, and the state that it leads to.',
      },
      lines.split('\n'),
      [column('step', (line) => line)],
    ),
  ];
}

export function traceFindings(checked: readonly CheckedTrace[], planned: number): FindingsParts {
  const events = sum(checked.map(({ trace }) => trace.events.length));
  return {
    headline: `${counted(checked.length, 'runs')} of the simulator with ${counted(events, 'events')}.`,
    check: verdictOf({
      unit: 'runs',
      planned,
      done: checked.length,
      fault: 'broke the model, or ended unchecked',
      found: checked.filter(({ outcome }) => outcome.result !== 'holds').map(forbidden),
    }),
    tables: [
      resultTable(
        {
          name: 'traces',
          title: 'Runs of the simulator as behaviours of the model',
          caption: 'Reads: those after the first deletion.',
        },
        checked,
        [
          column('seed', ({ trace }) => trace.seed),
          column('events', ({ trace }) => trace.events.length),
          column('deletions', ({ trace }) => trace.deletions),
          column('reads', ({ trace }) => trace.reads),
          column('seconds', ({ outcome }) => outcome.seconds.toFixed(1)),
          column('the model', ({ outcome: { result } }) =>
            result === 'broken' ? 'forbids it' : result,
          ),
        ],
      ),
    ],
    charts: [],
    targets: [],
  };
}

function forbidden({ trace: { seed, events }, outcome }: CheckedTrace): string {
  if (outcome.result !== 'broken') return `seed ${seed} (${outcome.result})`;
  const number = outcome.steps.length;
  return `seed ${seed} (event ${number + 1}: ${events[number] ?? 'the end'})`;
}
