/** The findings of `./run.sh mutants:machine`, for the report. */
import { counted, type FindingsParts, formatCount, type ResultTable } from '#results';
import { SKIPS, type SkipName } from './skips.ts';
import { isSurvivor, type JudgedMutant, type Row } from './summary.ts';

/** The largest share of the judged mutants that may survive without a reason. */
const NOT_EXPLAINED_MAX = 0.05;

export interface MachineResult {
  /** Mutants that were to be judged. */
  readonly planned: number;
  /** By folder; the last row is all of them. */
  readonly rows: readonly Row[];
  readonly judged: readonly JudgedMutant[];
  readonly skipped: Partial<Record<SkipName, number>>;
  /** Listed equivalents that are no longer generated. */
  readonly stale: readonly string[];
}

export function findingsOf(result: MachineResult): FindingsParts {
  const { rows, judged } = result;
  const all = rows.at(-1);
  return {
    headline:
      `Of ${counted(all?.mutants ?? 0, 'changes')}, ${formatCount(judged.length)} judged: ` +
      `${survivalText(result)} without a reason.`,
    check: checkOf(result),
    tables: [folderTable(rows), operatorTable(judged), survivorTable(judged), skipTable(result)],
    charts: [],
    targets: [],
  };
}

function survivalText({ judged, rows }: MachineResult): string {
  const survivors = unexplained(judged).length;
  const percent = (100 * (rows.at(-1)?.notExplained ?? 0)).toFixed(1);
  return `${formatCount(survivors)} (${percent} %) survive`;
}

function checkOf(result: MachineResult): FindingsParts['check'] {
  const { planned, judged, rows, stale } = result;
  const wrong = judged.filter((one) => !isSurvivor(one) && one.reason !== undefined);
  const isLeft = judged.length < planned;
  const faults = [
    ...(isLeft ? [`only ${formatCount(judged.length)} of ${formatCount(planned)} judged`] : []),
    ...stale.map((one) => `listed as equivalent, but no longer generated: ${one}`),
    ...wrong.map(({ mutant }) => `killed, though listed as equivalent: ${placeOf(mutant)}`),
  ];
  const isFew = (rows.at(-1)?.notExplained ?? 0) <= NOT_EXPLAINED_MAX;
  const limit = `at most ${100 * NOT_EXPLAINED_MAX} % may`;
  return {
    passed: isFew && faults.length === 0,
    detail: [`${survivalText(result)} without a reason, and ${limit}`, ...faults].join('; '),
  };
}

function unexplained(judged: readonly JudgedMutant[]): readonly JudgedMutant[] {
  return judged
    .filter((one) => isSurvivor(one) && one.reason === undefined)
    .toSorted(({ mutant: a }, { mutant: b }) =>
      a.file === b.file ? a.start - b.start : a.file.localeCompare(b.file),
    );
}

function folderTable(rows: readonly Row[]): ResultTable {
  const killers = Object.keys(rows[0]?.killed ?? {});
  return {
    name: 'folders',
    title: 'Changes by folder, and what killed them',
    caption:
      'Load: the changed file could not be loaded. Time: the change made a judge compute or wait for too long.',
    columns: [
      'folder',
      'changes',
      'judged',
      ...killers,
      'survived',
      'explained',
      '% not explained',
    ],
    rows: rows.map((row) => [
      row.folder,
      row.mutants,
      row.judged,
      ...Object.values(row.killed),
      row.survived,
      row.explained,
      (100 * row.notExplained).toFixed(1),
    ]),
  };
}

function operatorTable(judged: readonly JudgedMutant[]): ResultTable {
  const byOperator = Map.groupBy(judged, ({ mutant }) => mutant.operator);
  return {
    name: 'operators',
    title: 'Changes by operator',
    caption: 'Explained: survivors that are listed in equivalents/ with the reason.',
    columns: ['operator', 'judged', 'survived', 'explained'],
    rows: [...byOperator].map(([operator, some]) => {
      const survivors = some.filter(isSurvivor);
      const explained = survivors.filter(({ reason }) => reason !== undefined);
      return [operator, some.length, survivors.length, explained.length];
    }),
  };
}

function survivorTable(judged: readonly JudgedMutant[]): ResultTable {
  return {
    name: 'survivors',
    title: 'Survivors without a reason',
    caption:
      'Each must be killed by a new test, or be listed with the reason why it changes nothing.',
    columns: ['place', 'judges asked', 'change'],
    rows: unexplained(judged).map(({ mutant, verdict }) => [
      placeOf(mutant),
      verdict.judges,
      mutant.key,
    ]),
  };
}

function skipTable({ skipped }: MachineResult): ResultTable {
  return {
    name: 'skipped',
    title: 'Changes that were not made',
    caption: 'They say nothing about the protocol.',
    columns: ['rule', 'count', 'reason'],
    rows: Object.entries(skipped).map(([name, count]) => [
      name,
      count,
      SKIPS[name as SkipName].reason,
    ]),
  };
}

function placeOf({ file, line }: JudgedMutant['mutant']): string {
  return `${file}:${line}`;
}
