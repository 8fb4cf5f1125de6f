/**
 * The whole world at a moment, and everything that can happen next.
 *
 *     a message of a working process    is delivered and answered
 *                                       or its sender gives up, and it becomes stray
 *     a stray message                   is delivered, and its answer is not heard
 *     any mutation ever sent            is delivered once more, and its answer is not heard
 *     a working process                 dies; its mutations in flight become stray
 *
 * Delivery and answer are one step. A slow answer makes no other story: a sender that hears it late
 * acts like one that hears it at once and whose next message takes long. (The sender may have other
 * messages in flight, for other rows; but what it does about a row depends on the answers for that
 * row, until all answers have come.) A stray message may never arrive: a story may end with stray
 * messages in flight.
 *
 * Steps that would change nothing are left out: a message that would arrive without effect may as
 * well arrive later. For the same reason, where all others are presumed dead anyway, a process
 * dies only when no more processes are at work than may still die; until then, dying equals being
 * slow.
 */
import { assert, unreachable } from '../../../engine/base/index.ts';
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import type { LocalState, LocalStates, PendingMessage } from './local-states.ts';
import type { MessageAnswer, ProcessMessage, MessageBook } from './messages.ts';
import type { RowBook, RowState } from './rows.ts';
import type { Budget, Suspicion } from './scenarios.ts';

export interface WorldState {
  /** By row name, in the order of `WorldRules.rowNames`. */
  readonly rows: readonly RowState[];
  readonly processes: readonly LocalState[];
  /** The next timestamp of the oracle. */
  readonly nextTimestamp: Timestamp;
  /** Mutations in flight whose sender does not wait for them, by id. */
  readonly stray: readonly ProcessMessage[];
  /** The processes that have crashed: one bit each. */
  readonly dead: number;
  /** What may still go wrong. */
  readonly left: Budget;
}

export type Choice =
  | {
      readonly kind: 'deliver' | 'give up';
      readonly process: number;
      readonly pending: PendingMessage;
    }
  | { readonly kind: 'stray' | 'copy'; readonly message: ProcessMessage }
  | { readonly kind: 'crash'; readonly process: number };

export interface WorldRules {
  readonly rows: RowBook;
  readonly messages: MessageBook;
  readonly locals: LocalStates;
  /** `table/row` of every row there is. */
  readonly rowNames: readonly string[];
  readonly suspicion: Suspicion;
}

/** The same for the same state, and for no other. */
export function keyOf({ rows, processes, nextTimestamp, stray, dead, left }: WorldState): string {
  let key = `${nextTimestamp} ${dead} ${left.crashes}${left.copies}${left.lostAnswers}`;
  for (const { id } of rows) key += ` ${id}`;
  for (const { id } of processes) key += ` ${id}`;
  for (const { id } of stray) key += ` ${id}`;
  return key;
}

/** Whether no process works any more. */
export function isOver({ processes }: WorldState): boolean {
  return processes.every(({ phase }) => phase !== 'at work');
}

/** Everything that can happen next, in a fixed order; some of it may change nothing. */
export function choicesOf(world: WorldState, suspicion: Suspicion): readonly Choice[] {
  const { processes, stray, left } = world;
  const choices: Choice[] = [];
  const atWork = processes.filter(({ phase }) => phase === 'at work');
  for (const { process, pending } of atWork) {
    for (const one of pending) {
      choices.push({ kind: 'deliver', process, pending: one });
      if (left.lostAnswers > 0 && one.message.isMutation) {
        choices.push({ kind: 'give up', process, pending: one });
      }
    }
  }
  for (const message of new Set(stray)) choices.push({ kind: 'stray', message });
  if (left.copies > 0) {
    const sent = new Set(processes.flatMap((state) => state.sent));
    for (const message of sent) choices.push({ kind: 'copy', message });
  }
  if (left.crashes > 0 && (suspicion === 'crashed' || atWork.length <= left.crashes)) {
    for (const { process } of atWork) choices.push({ kind: 'crash', process });
  }
  return choices;
}

/**
 * The world after a choice; undefined if it changes nothing. A promise where a process enters a
 * state that it has never been in, so that its code has to run.
 */
export function take(
  rules: WorldRules,
  world: WorldState,
  choice: Choice,
): WorldState | undefined | Promise<WorldState | undefined> {
  switch (choice.kind) {
    case 'deliver':
      return deliver(rules, world, choice.process, choice.pending);
    case 'give up': {
      const { message } = choice.pending;
      const left = { ...world.left, lostAnswers: world.left.lostAnswers - 1 };
      const after = { ...world, left, stray: sorted([...world.stray, message]) };
      const answer = rules.messages.noAnswer();
      return heard(rules, after, { ...choice, number: choice.pending.number, answer });
    }
    case 'stray': {
      const after = arrive(rules, world, choice.message);
      return after && { ...after, stray: without(world.stray, choice.message) };
    }
    case 'copy': {
      const after = arrive(rules, world, choice.message);
      return after && { ...after, left: { ...world.left, copies: world.left.copies - 1 } };
    }
    case 'crash':
      return crash(rules, world, choice.process);
    default:
      return unreachable(choice);
  }
}

/** What a message finds where it arrives, and its effect there. */
export function answerOf(
  { rows, rowNames, messages }: WorldRules,
  world: WorldState,
  message: ProcessMessage,
): { readonly answer: MessageAnswer; readonly world: WorldState } {
  if (message.request.kind === 'timestamp') {
    const { nextTimestamp } = world;
    const answer = messages.answer(nextTimestamp);
    return { answer, world: { ...world, nextTimestamp: nextTimestamp + 1 } };
  }
  const index = rowNames.indexOf(message.rowName);
  const before = world.rows[index];
  assert(before !== undefined, `${message.rowName} is a row of the scenario`);
  const { row, answer } = rows.apply(before, message);
  if (row === before) return { answer, world };
  return { answer, world: { ...world, rows: world.rows.with(index, row) } };
}

function deliver(
  rules: WorldRules,
  world: WorldState,
  process: number,
  { number, message }: PendingMessage,
): WorldState | Promise<WorldState> {
  const arrived = answerOf(rules, world, message);
  return heard(rules, arrived.world, { process, number, answer: arrived.answer });
}

/** A process hears an answer, and continues. */
function heard(
  { locals }: WorldRules,
  world: WorldState,
  what: { readonly process: number; readonly number: number; readonly answer: MessageAnswer },
): WorldState | Promise<WorldState> {
  const { process, number, answer } = what;
  const before = world.processes[process];
  assert(before !== undefined, 'a process of the scenario hears it');
  const hears = { number, answer, dead: world.dead };
  const withState = (state: LocalState): WorldState => ({
    ...world,
    processes: world.processes.with(process, state),
  });
  const after = locals.after(before, hears);
  return after === undefined ? locals.explore(before, hears).then(withState) : withState(after);
}

/** A message arrives, and its answer is not heard. Undefined if it changes nothing. */
function arrive(
  rules: WorldRules,
  world: WorldState,
  message: ProcessMessage,
): WorldState | undefined {
  const after = answerOf(rules, world, message).world;
  return after === world ? undefined : after;
}

function crash({ locals }: WorldRules, world: WorldState, process: number): WorldState {
  const before = world.processes[process];
  assert(before !== undefined, 'a process of the scenario dies');
  const inFlight = before.pending.map(({ message }) => message);
  return {
    ...world,
    processes: world.processes.with(process, locals.dead(before)),
    stray: sorted([...world.stray, ...inFlight.filter(({ isMutation }) => isMutation)]),
    dead: world.dead | (1 << process),
    left: { ...world.left, crashes: world.left.crashes - 1 },
  };
}

function sorted(messages: readonly ProcessMessage[]): readonly ProcessMessage[] {
  return messages.toSorted((a, b) => a.id - b.id);
}

function without(
  messages: readonly ProcessMessage[],
  message: ProcessMessage,
): readonly ProcessMessage[] {
  return messages.toSpliced(messages.indexOf(message), 1);
}
