/**
 * "First picking a random Bigtable tablet, then picking a random key in the tablet" (section 2.4).
 *
 * The storage tells where a tablet begins and ends, not which keys it holds. After the prefix that
 * both ends share, each character is drawn from the kind that the ends have there: a digit between
 * digits. So most keys drawn between `user1000` and `user2000` lie among the rows, and not between
 * the last row and the end. The first and the last tablet have one unknown end; it is assumed to
 * differ from the other end in the last character.
 *
 * How many characters are drawn is random, too, down to none, which is the beginning of the tablet
 * itself: with long keys only, no scan would ever start at the first row.
 */
import type { Random } from '../base/index.ts';

const KINDS = ['0123456789', '0123456789abcdef', 'abcdefghijklmnopqrstuvwxyz'] as const;
const PRINTABLE =
  ' !"#$%&\'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~';
/** Keys with more characters than this would mostly lie between the same two rows. */
const CHARACTERS_MAX = 6;

/** A key from `start` on and before `end`; undefined: the end of the table. */
export function randomKeyIn(start: string, end: string | undefined, random: Random): string {
  const length = random.integer(0, CHARACTERS_MAX);
  if (length === 0) return start;
  const shared = sharedPrefix(start, end);
  const [first, last] = [start.slice(shared.length), end?.slice(shared.length)];
  const characters = kindOf(first + (last ?? ''));
  const from = fractionOf(first, characters);
  const to = last === undefined ? 1 : fractionOf(last, characters);
  const key = shared + keyAt(from + random.fraction() * (to - from), characters).slice(0, length);
  return key < start || (end !== undefined && key >= end) ? start : key;
}

/** The shared prefix in whole characters: the storage refuses half of a surrogate pair. */
function sharedPrefix(start: string, end: string | undefined): string {
  const prefix = sharedUnits(start, end);
  return prefix.isWellFormed() ? prefix : prefix.slice(0, -1);
}

function sharedUnits(start: string, end: string | undefined): string {
  if (end === undefined) return start.slice(0, -1);
  return start === '' ? end.slice(0, -1) : commonPrefix(start, end);
}

function kindOf(text: string): string {
  if (text === '') return PRINTABLE;
  const isOf = (kind: string): boolean => Array.from(text).every((one) => kind.includes(one));
  return KINDS.find(isOf) ?? PRINTABLE;
}

function commonPrefix(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}

/** The key as the digits after the point of a number from 0 up to 1. */
function fractionOf(key: string, characters: string): number {
  let fraction = 0;
  let worth = 1;
  for (const one of key.slice(0, CHARACTERS_MAX)) {
    worth /= characters.length;
    fraction += Math.max(0, characters.indexOf(one)) * worth;
  }
  return fraction;
}

function keyAt(fraction: number, characters: string): string {
  let key = '';
  let rest = fraction;
  for (let i = 0; i < CHARACTERS_MAX; i++) {
    rest *= characters.length;
    const digit = Math.min(Math.floor(rest), characters.length - 1);
    key += characters[digit];
    rest -= digit;
  }
  return key;
}
