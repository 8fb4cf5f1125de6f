/**
 * The findings of `./run.sh mutants:machine`, for the report: what was judged, by folder, and which
 * survivors are listed as equivalent.
 */
import { readdirSync, readFileSync } from 'node:fs';
import {
  column,
  counted,
  type FindingsParts,
  formatCount,
  type ResultTable,
  resultTable,
} from '#results';
import {
  type Folder,
  folderOf,
  FOLDERS,
  type MachineMutant,
  type SkipName,
  SKIPS,
} from './generate.ts';
import type { KilledBy, MutantVerdict } from './verdict.ts';

/** The largest share of the judged mutants that may survive without a reason. */
const NOT_EXPLAINED_MAX = 0.05;

export interface MachineResult {
  /** Mutants that were to be judged. */
  readonly planned: number;
  /** By folder; the last row is all of them. */
  readonly rows: readonly FolderRow[];
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

function folderTable(rows: readonly FolderRow[]): ResultTable {
  const killers = Object.keys(rows[0]?.killed ?? {}) as KilledBy[];
  return resultTable(
    {
      name: 'folders',
      title: 'Changes by folder, and what killed them',
      caption:
        'Load: the changed file could not be loaded. Time: the change made a judge compute or wait for too long.',
    },
    rows,
    [
      column('folder', ({ folder }) => folder),
      column('changes', ({ mutants }) => mutants),
      column('judged', ({ judged }) => judged),
      ...killers.map((killer) => column<FolderRow>(killer, ({ killed }) => killed[killer])),
      column('survived', ({ survived }) => survived),
      column('explained', ({ explained }) => explained),
      column('% not explained', ({ notExplained }) => (100 * notExplained).toFixed(1)),
    ],
  );
}

function operatorTable(judged: readonly JudgedMutant[]): ResultTable {
  const byOperator = Map.groupBy(judged, ({ mutant }) => mutant.operator);
  return resultTable(
    {
      name: 'operators',
      title: 'Changes by operator',
      caption: 'Explained: survivors that are listed in equivalents/ with the reason.',
    },
    Array.from(byOperator, ([operator, some]) => {
      return { operator, some, survivors: some.filter(isSurvivor) };
    }),
    [
      column('operator', ({ operator }) => operator),
      column('judged', ({ some }) => some.length),
      column('survived', ({ survivors }) => survivors.length),
      column(
        'explained',
        ({ survivors }) => survivors.filter(({ reason }) => reason !== undefined).length,
      ),
    ],
  );
}

function survivorTable(judged: readonly JudgedMutant[]): ResultTable {
  return resultTable(
    {
      name: 'survivors',
      title: 'Survivors without a reason',
      caption:
        'Each must be killed by a new test, or be listed with the reason why it changes nothing.',
    },
    unexplained(judged),
    [
      column('place', ({ mutant }) => placeOf(mutant)),
      column('judges asked', ({ verdict }) => verdict.judges),
      column('change', ({ mutant }) => mutant.key),
    ],
  );
}

function skipTable({ skipped }: MachineResult): ResultTable {
  return resultTable(
    {
      name: 'skipped',
      title: 'Changes that were not made',
      caption: 'They say nothing about the protocol.',
    },
    Object.entries(skipped),
    [
      column('rule', ([name]) => name),
      column('count', ([, count]) => count),
      column('reason', ([name]) => SKIPS[name as SkipName].reason),
    ],
  );
}

function placeOf({ file, line }: JudgedMutant['mutant']): string {
  return `${file}:${line}`;
}

interface JudgedMutant {
  readonly mutant: MachineMutant;
  readonly verdict: MutantVerdict;
  /** Why its survival is not the fault of the judges; undefined if it is not listed. */
  readonly reason: string | undefined;
}

interface FolderRow {
  readonly folder: Folder | 'all';
  /** Mutants made and mutants judged so far. */
  readonly mutants: number;
  readonly judged: number;
  readonly killed: Readonly<Record<KilledBy, number>>;
  readonly survived: number;
  /** Survivors that are listed with a reason. */
  readonly explained: number;
  /** Survivors without a reason, as a share of the judged mutants. */
  readonly notExplained: number;
}

export function judgedOf(
  mutants: readonly MachineMutant[],
  verdictOn: (mutant: MachineMutant) => MutantVerdict | undefined,
  equivalents: readonly Equivalent[],
): readonly JudgedMutant[] {
  return mutants.flatMap((mutant) => {
    const verdict = verdictOn(mutant);
    return verdict === undefined
      ? []
      : [{ mutant, verdict, reason: reasonFor(mutant, equivalents) }];
  });
}

export function rowsOf(
  mutants: readonly MachineMutant[],
  judged: readonly JudgedMutant[],
): readonly FolderRow[] {
  return [...FOLDERS, 'all' as const].map((folder) => {
    const isHere = ({ file }: MachineMutant): boolean =>
      folder === 'all' || folderOf(file) === folder;
    return rowOf(
      folder,
      mutants.filter(isHere).length,
      judged.filter(({ mutant }) => isHere(mutant)),
    );
  });
}

function rowOf(
  folder: FolderRow['folder'],
  mutants: number,
  judged: readonly JudgedMutant[],
): FolderRow {
  const killed = { load: 0, tests: 0, seeds: 0, search: 0, time: 0 };
  for (const { verdict } of judged) if (verdict.killedBy !== undefined) killed[verdict.killedBy]++;
  const survivors = judged.filter(isSurvivor);
  const explained = survivors.filter(({ reason }) => reason !== undefined).length;
  const survived = survivors.length;
  const notExplained = judged.length === 0 ? 0 : (survived - explained) / judged.length;
  return { folder, mutants, judged: judged.length, killed, survived, explained, notExplained };
}

function isSurvivor({ verdict }: JudgedMutant): boolean {
  return verdict.killedBy === undefined;
}

/*
 * Mutants that act like the engine, or differ only where no promise applies, each with the reason
 * in a sentence.
 *
 * They are listed by file and key, never by line. An entry that is no longer generated is stale.
 * The findings report stale entries, and listed mutants that a judge has killed.
 */

interface Equivalent {
  readonly reason: string;
  readonly file: string;
  /** The keys from generate.ts. */
  readonly mutants: readonly string[];
}

const FOLDER = new URL('equivalents/', import.meta.url);

export function readEquivalents(): readonly Equivalent[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .flatMap((name) => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Equivalent[]);
}

export function reasonFor(
  { file, key }: Pick<MachineMutant, 'file' | 'key'>,
  equivalents: readonly Equivalent[],
): string | undefined {
  return equivalents.find((one) => one.file === file && one.mutants.includes(key))?.reason;
}

/** Listed, but no longer generated. */
export function staleOf(
  equivalents: readonly Equivalent[],
  mutants: readonly MachineMutant[],
): readonly string[] {
  const known = new Set(mutants.map(({ file, key }) => `${file}: ${key}`));
  return equivalents
    .flatMap(({ file, mutants: keys }) => keys.map((key) => `${file}: ${key}`))
    .filter((one) => !known.has(one));
}
