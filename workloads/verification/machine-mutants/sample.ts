/**
 * Orders mutants so that every prefix is a fair sample: each folder and operator has its share, and
 * a seed decides at random which of their mutants come first.
 */
import { digestOf, folderOf } from './folders.ts';
import type { MachineMutant } from './generate.ts';

export function inFairOrder(
  mutants: readonly MachineMutant[],
  seed: number,
): readonly MachineMutant[] {
  const drawn = mutants.map((mutant) => {
    return { mutant, draw: digestOf(String(seed), mutant.file, mutant.key) };
  });
  const strata = Map.groupBy(
    drawn.toSorted((a, b) => (a.draw < b.draw ? -1 : 1)),
    ({ mutant }) => `${folderOf(mutant.file)} ${mutant.operator}`,
  );
  return [...strata.values()]
    .flatMap((stratum) => stratum.map((one, i) => ({ ...one, share: (i + 0.5) / stratum.length })))
    .toSorted((a, b) => a.share - b.share || (a.draw < b.draw ? -1 : 1))
    .map(({ mutant }) => mutant);
}
