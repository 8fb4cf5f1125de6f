/** What happened, for people: one line for each step, with its timestamps. */
import { unreachable } from '../../../engine/base/index.ts';
import { describeMessage } from './messages.ts';
import type { Scenario } from './scenario.ts';
import { answerOf, type Choice, type WorldRules, type WorldState } from './world-state.ts';

export function describeChoice(
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
