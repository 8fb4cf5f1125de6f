/**
 * Everything that can happen in a scenario: every interleaving, every moment to die, every message
 * that arrives twice, or late, or never. The real engine runs in it; nothing is left to chance.
 *
 *     a state of the world = rows + what each process has heard + messages in flight + faults left
 *
 *   1. Start from the beginning; at each state, list everything that can happen next
 *      (world-state.ts).
 *   2. Take each of these in turn, and go on from there, depth first. A state that was visited
 *      before is not entered again, because all its futures are known.
 *   3. Where no process works any more, run a last reader and the judges (ending.ts).
 *
 * Why this is complete: what a process does next is decided by what it has heard, and the effect of
 * a message is decided by the row it finds. So two ways into one state have the same future. States
 * are compared exactly, without hashing. They form no cycle, because every step hears an answer or
 * uses something up; so the ways through them, which are the executions, can be counted without
 * being walked.
 *
 * Why it is fast: the code of a process runs once for each thing it can ever have heard
 * (local-states.ts), not once for each interleaving. The rest is transition tables.
 *
 * What it does not cover: scans, garbage collection, clocks that differ, leases that end, and more
 * faults than the budget allows. The simulator covers these (simulation/).
 */
import { systemClock } from '../../../engine/base/index.ts';
import type { Violation } from '../judges/history.ts';
import { EndingJudge } from './ending.ts';
import type { Budget, Scenario, Suspicion } from './scenario.ts';
import { setTheScene } from './scene.ts';
import { SeenStates } from './seen-states.ts';
import { describeChoice, describeOutcomes } from './story.ts';
import { type Choice, choicesOf, isOver, keyOf, take, type WorldState } from './world-state.ts';

export interface ExhaustOptions extends Partial<Budget> {
  /** Default: all. */
  readonly suspicion?: Suspicion | undefined;
  /** The search gives up if there are more states. Default 1,000,000: about 150 megabytes. */
  readonly statesMax?: number | undefined;
  /** Called now and then with the states seen so far; the search stops if it returns false. */
  readonly onProgress?: ((states: number) => boolean) | undefined;
}

export interface Report {
  readonly scenario: string;
  /**
   * Different ways through everything that can happen. May exceed what a number holds exactly. If
   * the search ended early, only the executions that it has visited are counted.
   */
  readonly executions: number;
  readonly states: number;
  /** Whether everything that can happen was visited. */
  readonly isExhausted: boolean;
  /**
   * The outcomes of all transactions, such as `A committed, B failed`, and in how many endings they
   * occurred.
   */
  readonly outcomes: ReadonlyMap<string, number>;
  /** The first execution that breaks a rule; absent if none was found. */
  readonly failure?: Failure | undefined;
}

export interface Failure {
  readonly violations: readonly Violation[];
  /** What happened, in order, one line each. */
  readonly story: readonly string[];
  /** The number of the choice taken at each step, from the beginning; `retell` takes them again. */
  readonly choices: readonly number[];
}

interface Frame {
  readonly world: WorldState;
  readonly key: string;
  readonly choices: readonly Choice[];
  /** The number of the choice taken now. */
  taken: number;
  /** Ways from here to an ending, found so far. */
  executions: number;
}

/** Longer than any execution: only processes that loop reach it. */
const STEPS_MAX = 2_000;
/** States between two reports of progress, at which other work of this process may run. */
const STATES_BETWEEN_BREATHS = 5_000;

/** Visits everything that can happen in the scenario, until a rule is broken. */
export async function exhaust(scenario: Scenario, options: ExhaustOptions = {}): Promise<Report> {
  return new Search(scenario, options).run();
}

/**
 * The story of one execution, given by the numbers of its choices, and the verdict of the judges on
 * its end.
 */
export async function retell(
  scenario: Scenario,
  options: ExhaustOptions,
  choices: readonly number[],
): Promise<Failure> {
  return new Search(scenario, options).retell(choices);
}

class Search {
  readonly #scenario: Scenario;
  readonly #options: ExhaustOptions;
  readonly #budget: Budget;
  readonly #suspicion: Suspicion;
  /** The executions from each state on. */
  readonly #seen = new SeenStates();
  readonly #outcomes = new Map<string, number>();
  readonly #stack: Frame[] = [];

  constructor(scenario: Scenario, options: ExhaustOptions) {
    const { crashes = 0, copies = 0, lostAnswers = 0, suspicion = 'all' } = options;
    this.#scenario = scenario;
    this.#options = options;
    this.#budget = { crashes, copies, lostAnswers };
    this.#suspicion = suspicion;
  }

  async run(): Promise<Report> {
    const { start, rules } = await this.#setTheScene();
    const endingJudge = new EndingJudge(rules);
    const { statesMax = 1_000_000, onProgress } = this.#options;
    let isStopped = false;
    let failure = await this.#enter(start, endingJudge);
    for (let frame = this.#stack.at(-1); frame !== undefined; frame = this.#stack.at(-1)) {
      const choice = frame.choices[frame.taken];
      if (choice === undefined || isStopped || failure !== undefined) {
        this.#leave(frame);
        continue;
      }
      const taken = take(rules, frame.world, choice);
      const after = taken instanceof Promise ? await taken : taken;
      const known = after === undefined ? 0 : this.#seen.get(keyOf(after));
      if (known !== undefined) {
        frame.executions += known;
        frame.taken++;
      } else if (this.#seen.size >= statesMax) {
        isStopped = true; // Only now: there is a state more than may be visited.
      } else if (after !== undefined) {
        failure = await this.#enter(after, endingJudge);
        if (this.#seen.size % STATES_BETWEEN_BREATHS === 0) {
          isStopped ||= onProgress?.(this.#seen.size) === false;
          await systemClock.yield();
        }
      }
    }
    return {
      scenario: this.#scenario.name,
      executions: this.#seen.get(keyOf(start)) ?? 0,
      states: this.#seen.size,
      isExhausted: failure === undefined && !isStopped,
      outcomes: this.#outcomes,
      failure,
    };
  }

  async retell(choices: readonly number[]): Promise<Failure> {
    const { start, rules } = await this.#setTheScene();
    const endingJudge = new EndingJudge(rules);
    const story: string[] = [];
    let world = start;
    for (const number of choices) {
      const choice = choicesOf(world, this.#suspicion)[number];
      if (choice === undefined) throw new RangeError(`there is no choice ${number} at this point`);
      story.push(describeChoice(rules, world, choice, this.#scenario));
      world = (await take(rules, world, choice)) ?? world;
    }
    const progress = this.#judgeProgress(world, choices.length);
    const violations = [...progress, ...(await judgeEnd(world, endingJudge))];
    return { violations, story: [...story, describeOutcomes(world)], choices };
  }

  #setTheScene(): ReturnType<typeof setTheScene> {
    return setTheScene(this.#scenario, this.#budget, this.#suspicion);
  }

  /** Enters a new state, and returns what is wrong with it. */
  async #enter(world: WorldState, endingJudge: EndingJudge): Promise<Failure | undefined> {
    const key = keyOf(world);
    const isEnd = isOver(world);
    const choices = choicesOf(world, this.#suspicion);
    this.#seen.set(key, 0);
    this.#stack.push({ world, key, choices, taken: 0, executions: isEnd ? 1 : 0 });
    if (isEnd) this.#countOutcomes(world);
    const progress = this.#judgeProgress(world, this.#stack.length - 1);
    const violations = [...progress, ...(await judgeEnd(world, endingJudge))];
    if (violations.length === 0) return undefined;
    const taken = this.#stack.slice(0, -1).map((frame) => frame.taken);
    const { story } = await new Search(this.#scenario, this.#options).retell(taken);
    return { violations, story, choices: taken };
  }

  #leave(frame: Frame): void {
    this.#stack.pop();
    this.#seen.set(frame.key, frame.executions);
    const parent = this.#stack.at(-1);
    if (parent === undefined) return;
    parent.executions += frame.executions;
    parent.taken++;
  }

  /**
   * A process that works must wait for an answer.
   *
   * @param steps from the beginning to this state
   */
  #judgeProgress({ processes }: WorldState, steps: number): readonly Violation[] {
    if (steps >= STEPS_MAX) {
      return [{ claim: 'progress: endless', message: `no end after ${STEPS_MAX} steps` }];
    }
    return processes
      .filter(({ phase, pending }) => phase === 'at work' && pending.length === 0)
      .map(({ process }) => ({
        claim: 'progress: stuck',
        message: `${this.#scenario.processes[process]?.name} waits for nothing`,
      }));
  }

  #countOutcomes(world: WorldState): void {
    const outcomes = describeOutcomes(world);
    this.#outcomes.set(outcomes, (this.#outcomes.get(outcomes) ?? 0) + 1);
  }
}

async function judgeEnd(
  world: WorldState,
  endingJudge: EndingJudge,
): Promise<readonly Violation[]> {
  if (!isOver(world)) return [];
  return [...endingJudge.judgeDebris(world), ...(await endingJudge.judge(world))];
}
