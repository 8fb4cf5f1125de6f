/** The results by folder. */
import { type Equivalent, reasonFor } from './equivalents.ts';
import { type Folder, FOLDERS, folderOf } from './folders.ts';
import type { MachineMutant } from './generate.ts';
import type { KilledBy, Verdict } from './verdict.ts';

export interface JudgedMutant {
  readonly mutant: MachineMutant;
  readonly verdict: Verdict;
  /** Why its survival is not the fault of the judges; undefined if it is not listed. */
  readonly reason: string | undefined;
}

export interface Row {
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
  verdictOn: (mutant: MachineMutant) => Verdict | undefined,
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
): readonly Row[] {
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

function rowOf(folder: Row['folder'], mutants: number, judged: readonly JudgedMutant[]): Row {
  const killed = { load: 0, tests: 0, seeds: 0, search: 0, time: 0 };
  for (const { verdict } of judged) if (verdict.killedBy !== undefined) killed[verdict.killedBy]++;
  const survivors = judged.filter(isSurvivor);
  const explained = survivors.filter(({ reason }) => reason !== undefined).length;
  const survived = survivors.length;
  const notExplained = judged.length === 0 ? 0 : (survived - explained) / judged.length;
  return { folder, mutants, judged: judged.length, killed, survived, explained, notExplained };
}

export function isSurvivor({ verdict }: JudgedMutant): boolean {
  return verdict.killedBy === undefined;
}
