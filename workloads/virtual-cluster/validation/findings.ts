/** The findings of the validation: each number, its prediction, and the error. */
import { type FindingsParts, type ResultTable, type Target, noNumbers } from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import { COUNTED_DOCUMENTS, type Operations } from './operations.ts';

/** A number that was measured, and what the model says. */
export interface Compared {
  readonly workload: string;
  readonly what: string;
  readonly unit: string;
  readonly measured: number;
  readonly predicted: number;
  /** The largest error that is wanted, in percent; null for what is shown only. */
  readonly errorMax: number | null;
}

export interface Validated {
  /** The runs that measured. */
  readonly runs: readonly string[];
  readonly compared: readonly Compared[];
  readonly counted: { readonly measured: Operations; readonly predicted: Operations };
  readonly wrong: readonly string[];
}

const KINDS = ['read', 'mutate', 'conditionalMutate'] as const;
const KIND_NAMES = {
  read: 'reads',
  mutate: 'mutations',
  conditionalMutate: 'conditional mutations',
} as const;

export function validationFindings(validated: Validated): FindingsParts {
  const { compared, wrong, counted } = validated;
  if (wrong.length > 0) return noNumbers(wrong.join('; '));
  const { measured, predicted } = counted;
  const areEqual = KINDS.every((kind) => measured[kind] === predicted[kind]);
  const judged = compared.filter(({ errorMax }) => errorMax !== null);
  const within = judged.filter(isWithin);
  return {
    headline:
      `${within.length} of ${judged.length} numbers that the model should predict are within their limits. ` +
      `A document takes ${areEqual ? 'exactly the operations' : 'other operations than those'} that the model says.`,
    check: {
      passed: true,
      detail:
        'clusters are right, and so are histories and tables of the simulated runs that came to rest; calls, utilisation and queues keep their laws',
    },
    tables: [comparedTable(validated), operationsTable(counted)],
    charts: [],
    targets: [...judged.map(targetOf), operationsTarget(counted, areEqual)],
  };
}

function errorPercent({ measured, predicted }: Compared): number {
  return 100 * (predicted / measured - 1);
}

function isWithin(one: Compared): boolean {
  return one.errorMax !== null && Math.abs(errorPercent(one)) <= one.errorMax;
}

export function inWords(one: Compared): string {
  const { workload, what, unit, measured, predicted } = one;
  return `${workload}: ${what} ${predicted.toPrecision(3)} ${unit}, measured ${measured.toPrecision(3)}`;
}

function targetOf(one: Compared): Target {
  const { workload, what, unit, measured, predicted, errorMax } = one;
  return {
    name: `${workload}: ${what}`,
    target: `predicted within ${errorMax} %`,
    measured: `${rounded(predicted) ?? '?'} ${unit} predicted, ${rounded(measured) ?? '?'} measured: ${errorPercent(one).toFixed(0)} %`,
    met: isWithin(one),
  };
}

function operationsTarget({ measured, predicted }: Validated['counted'], met: boolean): Target {
  const inWordsOf = (operations: Operations): string =>
    KINDS.map((kind) => `${operations[kind]} ${KIND_NAMES[kind]}`).join(', ');
  return {
    name: 'operations of a document',
    target: `predicted exactly, for ${COUNTED_DOCUMENTS} documents`,
    measured: `predicted: ${inWordsOf(predicted)}; counted: ${inWordsOf(measured)}`,
    met,
  };
}

function comparedTable({ runs, compared }: Validated): ResultTable {
  return {
    name: 'validation',
    title: 'What the model predicts of this machine, and what this machine did',
    caption:
      `Measured by the runs ${runs.join(', ')}. With the embedded store the simulated machine has one core, for the one ` +
      'thread of engine and store; with HBase all cores of this machine, which its processes share.',
    columns: ['workload', 'what', 'unit', 'measured', 'predicted', 'error, %', 'wanted, %'],
    rows: compared.map((one) => [
      one.workload,
      one.what,
      one.unit,
      rounded(one.measured),
      rounded(one.predicted),
      rounded(errorPercent(one)),
      one.errorMax,
    ]),
  };
}

function operationsTable({ measured, predicted }: Validated['counted']): ResultTable {
  const row = (what: string, operations: Operations): readonly (string | number | null)[] => [
    what,
    ...KINDS.map((kind) => rounded(operations[kind] / COUNTED_DOCUMENTS)),
  ];
  return {
    name: 'operations',
    title: 'Operations that a document takes',
    caption:
      `Rows of the crawl's tables, of ${COUNTED_DOCUMENTS} documents that arrive one after the other: the engine on the ` +
      'embedded store, and on one machine in virtual time.',
    columns: ['', ...KINDS.map((kind) => KIND_NAMES[kind])],
    rows: [row('counted', measured), row('predicted', predicted)],
  };
}
