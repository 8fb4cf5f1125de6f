/**
 * Finds choices that a mutant is convicted of: random ones, until the judges convict; then as few
 * of them as still convict, while the engine as it is passes the same choices.
 *
 *     seed ─▶ run: a random choice, again and again ─▶ verdict ─▶ shrink ─▶ the engine as it is
 *
 * Where chance takes too long, `kinds` says what may happen, and `begins` how the run begins.
 */
import { createRandom, type Random } from '../../../engine/base/index.ts';
import type { Violation } from '../judges/history.ts';
import type * as engine from './engine.ts';
import type { ExplorerScenario } from './scenario.ts';
import type { ChoiceKind, ExplorerChoice, WrittenChoice } from './world/choice.ts';
import type { ExplorerWorld } from './world/world.ts';

export type ExplorerEngine = typeof engine;

export interface SearchOptions {
  readonly seed: number;
  /** Runs before it gives up. */
  readonly runs: number;
  /** Choices in a run, without those of `begins`. Default 30. */
  readonly choicesMax?: number | undefined;
  /** How often each kind is chosen, next to the others. Default `WEIGHTS`; absent: never. */
  readonly weights?: Partial<Record<ChoiceKind, number>> | undefined;
  /** Choices with which every run begins. Default none. */
  readonly begins?: readonly WrittenChoice[] | undefined;
  /** Only violations of this claim count. Default: any. */
  readonly claim?: string | undefined;
}

export interface Conviction {
  readonly choices: readonly WrittenChoice[];
  readonly violations: readonly Violation[];
  readonly runs: number;
}

export const WEIGHTS: Readonly<Partial<Record<ChoiceKind, number>>> = {
  follow: 50,
  deliver: 15,
  start: 12,
  crash: 3,
  restart: 3,
  copy: 5,
  'give up': 3,
  lose: 2,
  'lose answer': 4,
  pause: 2,
  resume: 4,
  'presume dead': 2,
  time: 2,
};
/** Longer than a lock's time to live, a lease's, and that of a message. */
const TIMES_MS = [6_000, 35_000, 130_000];

export async function search(
  { mutated, sound }: { readonly mutated: ExplorerEngine; readonly sound: ExplorerEngine },
  name: string,
  options: SearchOptions,
): Promise<Conviction | undefined> {
  const scenario = scenarioOf(mutated, name);
  const random = createRandom(options.seed).fork('search');
  for (let runs = 1; runs <= options.runs; runs++) {
    const choices = await convictedRun(mutated, scenario, random, options);
    if (choices === undefined) continue;
    const shrunk = await shrink(mutated, scenario, choices, options);
    if ((await sound.verdictOf(scenarioOf(sound, name), shrunk)).length > 0) continue;
    return { choices: shrunk, violations: await mutated.verdictOf(scenario, shrunk), runs };
  }
  return undefined;
}

function scenarioOf({ SCENARIOS }: ExplorerEngine, name: string): ExplorerScenario {
  const scenario = SCENARIOS.find((one) => one.name === name);
  if (scenario === undefined) throw new RangeError(`there is no scenario ${name}`);
  return scenario;
}

/** The choices of one random run, if the judges find something at its end. */
async function convictedRun(
  { ExplorerWorld: World, endAndJudge }: ExplorerEngine,
  scenario: ExplorerScenario,
  random: Random,
  options: SearchOptions,
): Promise<readonly WrittenChoice[] | undefined> {
  const { choicesMax = 30, begins = [] } = options;
  const world = await World.open(scenario);
  const taken: WrittenChoice[] = [...begins];
  for (const choice of begins) await world.take(choice);
  for (let left = random.integer(1, choicesMax); left > 0; left--) {
    const choice = draw(world, random, options.weights ?? WEIGHTS);
    if (choice !== undefined && (await world.take(choice))) taken.push(choice);
  }
  return isConvicted(await endAndJudge(world), options) ? taken : undefined;
}

function draw(
  world: ExplorerWorld,
  random: Random,
  weights: Partial<Record<ChoiceKind, number>>,
): ExplorerChoice | undefined {
  const times = TIMES_MS.map((of) => ({ kind: 'time', of }) as const);
  const byKind = Map.groupBy([...world.choices(), ...times], ({ kind }) => kind);
  const kinds = [...byKind].map(([kind, choices]) => ({ choices, weight: weights[kind] ?? 0 }));
  let left = random.fraction() * kinds.reduce((sum, { weight }) => sum + weight, 0);
  for (const { choices, weight } of kinds) {
    left -= weight;
    if (left < 0) return random.pick(choices);
  }
  return undefined;
}

function isConvicted(
  violations: readonly Violation[],
  { claim }: Pick<SearchOptions, 'claim'>,
): boolean {
  return violations.some((violation) => claim === undefined || violation.claim === claim);
}

/** Leaves out all without which the verdict stays; and lets arrive what need not go wrong. */
async function shrink(
  { verdictOf }: ExplorerEngine,
  scenario: ExplorerScenario,
  choices: readonly WrittenChoice[],
  options: SearchOptions,
): Promise<readonly WrittenChoice[]> {
  let best = choices;
  for (const [at, { kind, of }] of choices.entries()) {
    if (kind !== 'lose' && kind !== 'lose answer' && kind !== 'give up') continue;
    const calmer = best.with(at, { kind: 'deliver', of });
    if (isConvicted(await verdictOf(scenario, calmer), options)) best = calmer;
  }
  for (let size = Math.max(1, Math.floor(best.length / 4)); size >= 1;) {
    let isShorter = false;
    for (let at = best.length - size; at >= 0; at--) {
      const fewer = best.toSpliced(at, size);
      if (!isConvicted(await verdictOf(scenario, fewer), options)) continue;
      best = fewer;
      isShorter = true;
    }
    if (!isShorter || size > 1) size = Math.floor(size / 2);
  }
  return best;
}
