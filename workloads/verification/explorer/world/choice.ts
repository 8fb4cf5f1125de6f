/**
 * What may happen next, as a choice; and choices as the text in a link.
 *
 *     s0      process 0 begins its next task          c0   process 0 dies
 *     n       the oldest message is delivered         r0   it starts again, in a new life
 *     n5      the same, five times                    b0   the others hear that it is dead, true or not
 *     f0      the oldest of process 0                 p0   it is paused         u0   it goes on
 *     d12     message 12 is delivered
 *     x12     message 12 is lost: its sender hears    z0   its machine is suspended
 *             that there is no answer                 t5000   5,000 milliseconds pass
 *     a12     it is delivered, and its answer lost    g12  its sender gives up; it stays in flight
 *     k12     a copy of it is delivered
 */
import { PercolatorError } from '../../../../engine/base/index.ts';

const KINDS = {
  s: 'start',
  f: 'follow',
  d: 'deliver',
  x: 'lose',
  a: 'lose answer',
  g: 'give up',
  k: 'copy',
  c: 'crash',
  r: 'restart',
  b: 'presume dead',
  p: 'pause',
  z: 'suspend',
  u: 'resume',
  t: 'time',
} as const;

export type ChoiceKind = (typeof KINDS)[keyof typeof KINDS];

export interface ExplorerChoice {
  readonly kind: ChoiceKind;
  /**
   * The number of the process (also for `follow`) or message; for time the milliseconds that pass.
   */
  readonly of: number;
}

/** Also `n`, for which `of` counts: the oldest messages are delivered. */
export interface WrittenChoice {
  readonly kind: ChoiceKind | 'next';
  readonly of: number;
}

const LETTERS = new Map<ChoiceKind, string>(
  Object.entries(KINDS).map(([letter, kind]) => [kind, letter]),
);

/** @throws INVALID_ARGUMENT naming the part that is no choice */
export function readChoices(text: string): readonly WrittenChoice[] {
  const parts = text.match(/[a-z]\d*|[^a-z]+/g) ?? [];
  return parts.map((part) => {
    const letter = part.charAt(0);
    const number = part.slice(1);
    if (letter === 'n' && number.length < 5) {
      return { kind: 'next', of: number === '' ? 1 : Number(number) };
    }
    const kind = KINDS[letter as keyof typeof KINDS];
    if (kind === undefined || !/^\d{1,9}$/.test(number)) {
      const message = `the choices of a scenario have no ${JSON.stringify(part)}; a choice is a letter and a number, such as s0 or n5 (at most n9999)`;
      throw new PercolatorError('INVALID_ARGUMENT', message);
    }
    return { kind, of: Number(number) };
  });
}

/** `n3` as three deliveries. */
export function oneByOne(choices: readonly WrittenChoice[]): readonly WrittenChoice[] {
  return choices.flatMap((choice) =>
    choice.kind === 'next'
      ? Array.from({ length: choice.of }, () => ({ kind: 'next', of: 1 }) as const)
      : [choice],
  );
}

export function writeChoices(choices: readonly WrittenChoice[]): string {
  let text = '';
  for (const [i, { kind, of }] of choices.entries()) {
    if (kind !== 'next') text += `${LETTERS.get(kind) ?? ''}${of}`;
    else if (choices[i - 1]?.kind !== 'next') text += `n${countFrom(choices, i)}`;
  }
  return text.replaceAll(/n1(?!\d)/g, 'n');
}

/** How many are delivered by the choices `next` from here on, until another choice. */
function countFrom(choices: readonly WrittenChoice[], start: number): number {
  let count = 0;
  for (let i = start; choices[i]?.kind === 'next'; i++) count += choices[i]?.of ?? 0;
  return count;
}
