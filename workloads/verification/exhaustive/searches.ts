/**
 * The searches of a run: each scenario, suspicion and budget of faults that the options ask for.
 *
 * Duplicates and lost answers are searched one after the other, because the size of both together
 * would be the product. Large scenarios are searched without either, unless they are named.
 */
import { UsageError } from '#results';
import {
  type Budget,
  type ExhaustOptions,
  type Scenario,
  SCENARIOS,
  type Suspicion,
} from './index.ts';

export const SUSPICIONS = ['all', 'crashed'] as const;

export interface PlannedSearch {
  readonly scenario: Scenario;
  readonly budget: Budget;
  readonly suspicion: Suspicion;
  readonly statesMax: number;
}

export interface SearchOptions {
  /** Names of scenarios; empty for all. */
  readonly scenario: readonly string[];
  /** Undefined for both. */
  readonly suspicion: Suspicion | undefined;
  readonly crashes: number;
  readonly duplicates: number;
  readonly lostAnswers: number;
  readonly maxStates: number;
  /** Whether large scenarios that are not named take part. */
  readonly hasLarge: boolean;
}

export function searchesOf(options: SearchOptions): readonly PlannedSearch[] {
  const suspicions = options.suspicion === undefined ? SUSPICIONS : [options.suspicion];
  return chosen(options).flatMap((scenario) =>
    suspicions.flatMap((suspicion) =>
      budgetsOf(scenario, options).map((budget) => ({
        scenario,
        suspicion,
        budget,
        statesMax: options.maxStates,
      })),
    ),
  );
}

function chosen({ scenario: names, hasLarge }: SearchOptions): readonly Scenario[] {
  const known = SCENARIOS.map(({ name }) => name);
  for (const name of names) {
    if (known.includes(name)) continue;
    throw new UsageError(
      `--scenario must be one of ${known.join(', ')}, but is ${JSON.stringify(name)}.`,
    );
  }
  if (names.length > 0) return SCENARIOS.filter(({ name }) => names.includes(name));
  return SCENARIOS.filter(({ isLarge }) => hasLarge || isLarge !== true);
}

function budgetsOf({ name, isLarge }: Scenario, options: SearchOptions): readonly Budget[] {
  const { crashes, duplicates: copies, lostAnswers } = options;
  const calm = { crashes, copies: 0, lostAnswers: 0 };
  if (isLarge === true && !options.scenario.includes(name)) return [calm];
  const duplicated = { ...calm, copies };
  if (lostAnswers === 0) return [duplicated];
  // Without duplicates, the first search would be a part of the second.
  return [...(copies > 0 ? [duplicated] : []), { ...calm, lostAnswers }];
}

/** The states of the largest scenario with one death of a process, and no other fault. */
const LARGE_STATES = 6_413_477;

/** For the plan: whether the large scenarios will be visited whole. Empty if none takes part. */
export function coverageOfLarge(searches: readonly PlannedSearch[]): string {
  const large = searches.filter(({ scenario }) => scenario.isLarge === true);
  if (large.length === 0) return '';
  const isWhole = large.every(
    ({ budget: { crashes, copies, lostAnswers }, statesMax }) =>
      crashes <= 1 && copies + lostAnswers === 0 && statesMax >= LARGE_STATES,
  );
  return isWhole
    ? '; the large scenarios are visited whole, without duplicates and lost answers'
    : '; the searches of the large scenarios may be cut short by --max-states';
}

export function exhaustOptionsOf({ budget, suspicion, statesMax }: PlannedSearch): ExhaustOptions {
  return { ...budget, suspicion, statesMax };
}

/** Guesses from small searches: a fault of a kind multiplies the states. */
export function secondsOf({ scenario, budget: { copies, lostAnswers } }: PlannedSearch): number {
  return (scenario.isLarge === true ? 50 : 0.6) * 8 ** copies * 20 ** lostAnswers;
}

export function commandOf({ scenario, suspicion, budget }: PlannedSearch): string {
  const { crashes, copies, lostAnswers } = budget;
  return (
    `./run.sh exhaust --scenario ${scenario.name} --suspicion ${suspicion} --crashes ${crashes} ` +
    `--duplicates ${copies} --lost-answers ${lostAnswers}`
  );
}
