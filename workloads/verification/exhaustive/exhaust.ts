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
import { systemClock, unreachable } from '../../../engine/base/index.ts';
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import { committedCell, notifyTable } from '../../../engine/transaction/index.ts';
import { addressOf, type HistoricTransaction, type Violation } from '../judges/history.ts';
import { EndingJudge, type EndingRules } from './ending.ts';
import { LocalStates } from './local-states.ts';
import { describeMessage, MessageBook } from './messages.ts';
import { RowBook, type RowState } from './rows.ts';
import { type Budget, cellsOf, type Scenario, type Suspicion } from './scenarios.ts';
import {
  answerOf,
  type Choice,
  choicesOf,
  isOver,
  keyOf,
  take,
  type WorldRules,
  type WorldState,
} from './world-state.ts';

export interface ExhaustOptions extends Partial<Budget> {
  /** Default: all. */
  readonly suspicion?: Suspicion | undefined;
  /** The search gives up if there are more states. Default 1,000,000: about 150 megabytes. */
  readonly statesMax?: number | undefined;
  /** Called now and then with the states seen so far; the search stops if it returns false. */
  readonly onProgress?: ((states: number) => boolean) | undefined;
}

export interface SearchReport {
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
  readonly failure?: SearchFailure | undefined;
}

export interface SearchFailure {
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
export async function exhaust(
  scenario: Scenario,
  options: ExhaustOptions = {},
): Promise<SearchReport> {
  return new DepthFirstSearch(scenario, options).run();
}

/**
 * The story of one execution, given by the numbers of its choices, and the verdict of the judges on
 * its end.
 */
export async function retell(
  scenario: Scenario,
  options: ExhaustOptions,
  choices: readonly number[],
): Promise<SearchFailure> {
  return new DepthFirstSearch(scenario, options).retell(choices);
}

class DepthFirstSearch {
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

  async run(): Promise<SearchReport> {
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

  async retell(choices: readonly number[]): Promise<SearchFailure> {
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
  async #enter(world: WorldState, endingJudge: EndingJudge): Promise<SearchFailure | undefined> {
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
    const { story } = await new DepthFirstSearch(this.#scenario, this.#options).retell(taken);
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

/* A scenario before any process has acted: rows, processes, and the rules they follow. */

/** The transaction that wrote the initial cells. */
const PAST = { startTimestamp: 1, commitTimestamp: 2 } as const;
const FIRST: Timestamp = PAST.commitTimestamp + 1;

export async function setTheScene(
  scenario: Scenario,
  budget: Budget,
  suspicion: Suspicion,
): Promise<{ readonly start: WorldState; readonly rules: EndingRules }> {
  const { observed = [], processes } = scenario;
  const messages = new MessageBook();
  const rows = new RowBook(messages);
  const cells = cellsOf(scenario);
  const lastReader = {
    name: 'the last reader',
    transactions: [[{ do: 'getMany', cells }]],
  } as const;
  const locals = new LocalStates({
    messages,
    scripts: [...processes, lastReader],
    suspicion,
    observed,
    hasCopies: budget.copies > 0,
  });
  const rowNames = rowNamesOf(cells, observed);
  const states = await Promise.all(processes.map((_, i) => locals.start(i)));
  const start: WorldState = {
    rows: rowNames.map((rowName) => rowBefore(rows, rowName, scenario)),
    processes: states,
    nextTimestamp: FIRST,
    stray: [],
    dead: 0,
    left: budget,
  };
  const rules: EndingRules = {
    rows,
    messages,
    locals,
    rowNames,
    suspicion,
    lastReader: await locals.start(processes.length),
    past: scenario.initial.length === 0 ? [] : [pastOf(scenario)],
    observed,
    budget,
  };
  return { start, rules };
}

/**
 * The rows of the cells, each in every table of the cells: an engine that mistakes the table of a
 * primary (P15) must find a row there. And the rows of their notifications.
 */
function rowNamesOf(cells: readonly string[], observed: readonly string[]): readonly string[] {
  const addresses = cells.map(addressOf);
  const rowNames = addresses.flatMap(({ table }) => addresses.map(({ row }) => `${table}/${row}`));
  const notified = addresses.filter(({ column }) => observed.includes(column));
  const notifications = notified.map(({ table, row }) => `${notifyTable(table)}/${row}`);
  return [...new Set([...rowNames, ...notifications])];
}

function rowBefore(rows: RowBook, rowName: string, { initial }: Scenario): RowState {
  const mutations = initial.map(addressOf).flatMap(({ table, row, column }) => {
    const isThere = `${table}/${row}` === rowName;
    return isThere ? committedCell(column, Buffer.from(valueOf(column)), PAST) : [];
  });
  return rows.written(rowName, mutations);
}

function pastOf({ initial }: Scenario): HistoricTransaction {
  return {
    process: 'the past',
    ...PAST,
    outcome: 'committed',
    beganAt: 0,
    reads: [],
    writes: initial.map((cell) => ({ cell, value: valueOf(addressOf(cell).column) })),
    locks: [],
  };
}

function valueOf(column: string): string {
  return `${column} of the past`;
}

/**
 * The states seen so far, and how many executions continue from each. One map holds at most some 16
 * million entries, so there are several.
 */
const SHARDS = 16;

class SeenStates {
  readonly #shards = Array.from({ length: SHARDS }, () => new Map<string, number>());
  /** Only grows. */
  size = 0;

  get(key: string): number | undefined {
    return this.#shardOf(key).get(key);
  }

  set(key: string, executions: number): void {
    const shard = this.#shardOf(key);
    const before = shard.size;
    shard.set(key, executions);
    this.size += shard.size - before;
  }

  #shardOf(key: string): Map<string, number> {
    let sum = 0;
    for (let i = 1; i <= 6; i++) sum += key.charCodeAt(key.length - i);
    return this.#shards[sum % SHARDS] as Map<string, number>;
  }
}

/* What happened, for people: one line for each step, with its timestamps. */

function describeChoice(
  rules: WorldRules,
  world: WorldState,
  choice: Choice,
  { processes }: Scenario,
): string {
  switch (choice.kind) {
    case 'deliver': {
      const { message } = choice.pending;
      const { answer } = answerOf(rules, world, message);
      return `${nameOf(choice.process)}: ${describeMessage(message, answer)}`;
    }
    case 'give up':
      return `${nameOf(choice.process)}: gives up on ${describeMessage(choice.pending.message)}`;
    case 'stray':
    case 'copy': {
      const { message } = choice;
      const what = choice.kind === 'copy' ? 'a copy' : 'a late message';
      return `(${what}): ${describeMessage(message, answerOf(rules, world, message).answer)}`;
    }
    case 'crash':
      return `${nameOf(choice.process)}: dies`;
    default:
      return unreachable(choice);
  }

  function nameOf(process: number): string {
    return processes[process]?.name ?? 'the last reader';
  }
}

/** What the clients were told in the end: `A committed, B failed`. */
export function describeOutcomes({ processes }: WorldState): string {
  return processes
    .flatMap(({ observations }) => observations.transactions)
    .filter(({ writes, locks }) => writes.length + locks.length > 0)
    .map(({ process, outcome }) => `${process} ${outcome}`)
    .join(', ');
}
