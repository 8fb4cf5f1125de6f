/** The findings of `./run.sh mutants`, for the report. */
import { counted, verdictOf } from '#harness';
import type { FindingsParts, ResultTable } from '#results';
import { type Hunted, type Mutant, MUTANTS, WITHOUT_MUTANT } from './index.ts';

/** @param mutants those that were to be hunted */
export function findingsOf(hunted: readonly Hunted[], mutants: readonly Mutant[]): FindingsParts {
  const escaped = hunted.filter(({ caught }) => caught === undefined);
  return {
    headline: `The judges convicted ${hunted.length - escaped.length} of ${counted(hunted.length, 'mutants')}.`,
    check: verdictOf({
      unit: 'mutants',
      planned: mutants.length,
      done: hunted.length,
      fault: 'got away',
      found: escaped.map(({ mutant }) => mutant.name),
    }),
    tables: [
      mutantTable(hunted),
      ...(mutants.length === MUTANTS.length ? [rulesWithoutMutant()] : []),
    ],
    charts: [],
    targets: [],
  };
}

function mutantTable(hunted: readonly Hunted[]): ResultTable {
  return {
    name: 'mutants',
    title: 'Mistakes put back, and the judge that convicted each',
    caption: 'Runs until the conviction, and its seed, which the unchanged engine passes.',
    columns: ['rule', 'mutant', 'convicted of', 'runs', 'seed'],
    rows: hunted.map(({ mutant: { rule, name }, caught }) =>
      caught === undefined
        ? [rule, name, 'GOT AWAY', null, null]
        : [rule, name, caught.claim, caught.runs, caught.seed],
    ),
  };
}

function rulesWithoutMutant(): ResultTable {
  return {
    name: 'rules-without-mutant',
    title: 'Rules without a mutant',
    caption: 'Rules of engine/protocol.md that no change of the simulated engine can break.',
    columns: ['rule', 'reason'],
    rows: Object.entries(WITHOUT_MUTANT),
  };
}
