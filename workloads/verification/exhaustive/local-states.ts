/**
 * The state of a process at a moment. It is decided by what the process has heard so far, because
 * processes are deterministic. So the states of a process form a tree, and the real code runs once
 * for each of its edges, in however many interleavings of other processes it occurs.
 *
 *     started ──hears: timestamp 3──▶ ● ──hears: locked──▶ ● ──hears: timestamp 4──▶ ...
 *                                     └───hears: conflict─▶ ● ...
 *
 * To continue from a state, a process must be alive in that state. If the process that reached it
 * has moved on since, another one is started, and hears the same again. States with the same future
 * are one: those of processes that have finished or died, if their clients were told the same and
 * they have sent the same.
 */
import { assert, BoundedMap } from '../../../engine/base/index.ts';
import { LiveProcess, type ClientObservations } from './live-process.ts';
import type { MessageAnswer, ProcessMessage, MessageBook } from './messages.ts';
import type { ScriptedProcess, Suspicion } from './scenarios.ts';

export interface LocalState {
  /** Unique. */
  readonly id: number;
  readonly process: number;
  readonly phase: 'at work' | 'finished' | 'dead';
  /** Sent and not answered yet, in the order sent. */
  readonly pending: readonly PendingMessage[];
  /** Mutations sent so far, each once. */
  readonly sent: readonly ProcessMessage[];
  readonly observations: ClientObservations;
  /** The previous state, and what was heard then; absent at the start. */
  readonly before?: { readonly state: LocalState; readonly heard: ReceivedAnswer } | undefined;
}

export interface PendingMessage {
  readonly number: number;
  readonly message: ProcessMessage;
}

export interface ReceivedAnswer {
  /** The number of the message that this answers. */
  readonly number: number;
  readonly answer: MessageAnswer;
  /** The processes that have crashed by then: one bit each. */
  readonly dead: number;
}

export interface ProcessRules {
  readonly messages: MessageBook;
  readonly scripts: readonly ScriptedProcess[];
  readonly suspicion: Suspicion;
  readonly observed: readonly string[];
  /** Whether copies of sent messages may arrive later; otherwise `sent` does not matter. */
  readonly hasCopies: boolean;
}

interface RunningProcess {
  readonly process: LiveProcess;
  /** The deaths of other processes that the process can see. */
  dead: number;
  /** Whether it has checked for deaths since it heard the last answer. */
  hasLooked: boolean;
}

/** The number of processes kept alive in their states; the oldest are forgotten first. */
const LIVING_MAX = 2_000;
/** Used in place of the deaths where the process has not checked for them. */
const UNSEEN = -1;

export class LocalStates {
  readonly #rules: ProcessRules;
  readonly #after = new Map<LocalState, Map<string, LocalState>>();
  readonly #dead = new Map<LocalState, LocalState>();
  readonly #ended = new Map<string, LocalState>();
  readonly #living = new BoundedMap<LocalState, RunningProcess>(LIVING_MAX);
  #count = 0;

  constructor(rules: ProcessRules) {
    this.#rules = rules;
  }

  async start(process: number): Promise<LocalState> {
    const living = await this.#startProcess(process);
    return this.#stateOf(process, living, undefined);
  }

  /** The next state; undefined if it has not been visited yet: then call `explore`. */
  after(state: LocalState, heard: ReceivedAnswer): LocalState | undefined {
    const known = this.#after.get(state);
    return known?.get(nameOf(heard)) ?? known?.get(nameOf({ ...heard, dead: UNSEEN }));
  }

  async explore(state: LocalState, heard: ReceivedAnswer): Promise<LocalState> {
    const living = await this.#revive(state);
    living.dead = heard.dead;
    living.hasLooked = false;
    await living.process.hear(heard.number, heard.answer);
    const after = this.#stateOf(state.process, living, { state, heard });
    const known = this.#after.get(state) ?? new Map<string, LocalState>();
    // A process that does not check for deaths acts the same whichever processes are dead.
    const name = nameOf(living.hasLooked ? heard : { ...heard, dead: UNSEEN });
    this.#after.set(state, known.set(name, after));
    return after;
  }

  /** The same process, dead: what it has sent may still arrive, but it hears nothing any more. */
  dead(state: LocalState): LocalState {
    const known = this.#dead.get(state);
    if (known !== undefined) return known;
    const dead = this.#end({ ...state, phase: 'dead', pending: [] });
    this.#dead.set(state, dead);
    return dead;
  }

  #stateOf(process: number, living: RunningProcess, before: LocalState['before']): LocalState {
    const { outstanding, isFinished, observations } = living.process;
    const pending = [...outstanding].map(([number, { message }]) => ({ number, message }));
    const sent = new Map((before?.state.sent ?? []).map((message) => [message.id, message]));
    for (const { message } of pending) if (message.isMutation) sent.set(message.id, message);
    const state = { id: 0, process, pending, sent: [...sent.values()], observations, before };
    if (isFinished) return this.#end({ ...state, phase: 'finished' });
    const added: LocalState = { ...state, id: this.#count++, phase: 'at work' };
    this.#living.set(added, living);
    return added;
  }

  /** Merges states of ended processes that differ in nothing that matters later. */
  #end(state: LocalState): LocalState {
    const { process, phase, observations, sent } = state;
    const copies = this.#rules.hasCopies ? sent.map(({ id }) => id).toSorted((a, b) => a - b) : [];
    const name = JSON.stringify([process, phase, observations, copies]);
    const known = this.#ended.get(name);
    if (known !== undefined) return known;
    const added = { ...state, id: this.#count++ };
    this.#ended.set(name, added);
    return added;
  }

  /** A living process in this state, for the caller to continue. */
  async #revive(state: LocalState): Promise<RunningProcess> {
    const found = this.#living.get(state);
    if (found !== undefined) {
      this.#living.delete(state);
      return found;
    }
    const living = await this.#startProcess(state.process);
    for (const { number, answer, dead } of historyOf(state)) {
      living.dead = dead;
      await living.process.hear(number, answer);
    }
    const numbers = [...living.process.outstanding.keys()].join(' ');
    const before = state.pending.map(({ number }) => number).join(' ');
    assert(numbers === before, 'a process that hears the same does the same');
    return living;
  }

  async #startProcess(process: number): Promise<RunningProcess> {
    const { scripts, messages, observed, suspicion } = this.#rules;
    const script = scripts[process];
    assert(script !== undefined, 'every process has a script');
    const isDead = (token: string): boolean => {
      if (suspicion === 'all') return true;
      living.hasLooked = true;
      return (living.dead & (1 << scripts.findIndex(({ name }) => name === token))) !== 0;
    };
    const isObserved = (column: string): boolean => observed.includes(column);
    const live = new LiveProcess(script, { messages, isDead, isObserved });
    const living: RunningProcess = { process: live, dead: 0, hasLooked: false };
    await live.start();
    return living;
  }
}

function nameOf({ number, answer, dead }: ReceivedAnswer): string {
  return `${number} ${answer.id} ${dead}`;
}

function historyOf(state: LocalState): readonly ReceivedAnswer[] {
  const history: ReceivedAnswer[] = [];
  for (let at = state.before; at !== undefined; at = at.state.before) history.push(at.heard);
  return history.toReversed();
}
