/**
 * A counterexample of the search as a link to the explorer, where one steps through it in the real
 * engine. Both worlds walk side by side:
 *
 *     the search                                 the explorer
 *     a process sends its n-th message           the same process sends its n-th message
 *     deliver, give up, stray, copy, crash       d, g, d, k, c (explorer/world/choice.ts)
 *     all others are presumed dead               b, for each process, before anything else
 *
 * The processes of both hear the same, so they send the same. Where they do not, because the search
 * has freedom that the explorer lacks, there is no link; nor if the explorer's judges find nothing.
 */
import { writeChoices, type ExplorerChoice } from '../explorer/world/choice.ts';
import { smallScenario } from '../explorer/scenarios/small.ts';
import { type ExplorerMessage, placeOfRequest } from '../explorer/world/message.ts';
import { endAndJudge } from '../explorer/world/verdict.ts';
import { ExplorerWorld } from '../explorer/world/world.ts';
import { type ExhaustOptions, setTheScene } from './exhaust.ts';
import type { ProcessMessage } from './messages.ts';
import type { Scenario } from './scenarios.ts';
import { type Choice, choicesOf, take, type WorldState } from './world-state.ts';

/** What was sent, by content: each sender, and which of its messages it is, from 0. */
type Sent = Map<ProcessMessage, Map<string, { readonly process: number; readonly nth: number }>>;

/**
 * What `./run.sh explore --link` takes; undefined if the explorer cannot show it.
 *
 * @param choices as in `SearchFailure`
 */
export async function linkTo(
  scenario: Scenario,
  options: ExhaustOptions,
  choices: readonly number[],
): Promise<string | undefined> {
  const { crashes = 0, copies = 0, lostAnswers = 0, suspicion = 'all' } = options;
  const budget = { crashes, copies, lostAnswers };
  const { start, rules } = await setTheScene(scenario, budget, suspicion);
  const shown = smallScenario(scenario);
  const explorer = await ExplorerWorld.open(shown);
  const taken: ExplorerChoice[] = [];
  const follow = async (choice: ExplorerChoice | undefined): Promise<boolean> => {
    if (choice === undefined || !(await explorer.take(choice))) return false;
    taken.push(choice);
    const asked = explorer.inFlight.find(({ message }) => isAside(message));
    return asked === undefined || follow({ kind: 'deliver', of: asked.message.number });
  };
  const kinds = suspicion === 'all' ? (['presume dead', 'start'] as const) : (['start'] as const);
  for (const kind of kinds) {
    for (const of of scenario.processes.keys()) await follow({ kind, of });
  }
  const sent: Sent = new Map();
  let world = start;
  for (const number of choices) {
    note(sent, world);
    const choice = choicesOf(world, suspicion)[number];
    if (choice === undefined || !(await follow(choiceIn(explorer, choice, sent)))) return undefined;
    world = (await take(rules, world, choice)) ?? world;
  }
  const violations = await endAndJudge(explorer);
  return violations.length === 0 ? undefined : `${shown.name}/${writeChoices(taken)}`;
}

function note(sent: Sent, { processes }: WorldState): void {
  for (const { process, pending } of processes) {
    for (const { number: nth, message } of pending) {
      const senders = sent.get(message) ?? new Map();
      sent.set(message, senders.set(`${process} ${nth}`, { process, nth }));
    }
  }
}

/** No message in the search, which answers it at once. */
function isAside({ request }: ExplorerMessage): boolean {
  return request.kind === 'horizon';
}

/** Undefined if the explorer has no such message. */
function choiceIn(explorer: ExplorerWorld, choice: Choice, sent: Sent): ExplorerChoice | undefined {
  if (choice.kind === 'crash') return { kind: 'crash', of: choice.process };
  if ('pending' in choice) {
    const { kind, process, pending } = choice;
    const of = numberIn(explorer, { process, nth: pending.number }, pending.message);
    return of === undefined ? undefined : { kind, of };
  }
  const { kind, message } = choice;
  const senders = [...(sent.get(message)?.values() ?? [])];
  const numbers = senders.flatMap((one) => numberIn(explorer, one, message) ?? []);
  const isStray = (number: number): boolean =>
    explorer.inFlight.some((one) => one.message.number === number && !one.isAwaited);
  const of = kind === 'copy' ? numbers[0] : numbers.find(isStray);
  return of === undefined ? undefined : { kind: kind === 'copy' ? 'copy' : 'deliver', of };
}

/** The number in the explorer of the n-th message of a process, if it asks for the same. */
function numberIn(
  { sent }: ExplorerWorld,
  { process, nth }: { readonly process: number; readonly nth: number },
  { request, rowName }: ProcessMessage,
): number | undefined {
  const found = sent.filter((one) => one.process === process && !isAside(one))[nth];
  if (found === undefined || found.request.kind !== request.kind) return undefined;
  return placeOfRequest(found.request) === (rowName === '' ? 'oracle' : rowName)
    ? found.number
    : undefined;
}
