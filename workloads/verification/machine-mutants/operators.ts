/**
 * Mechanical mistakes: each operator inspects one place and returns its changes there.
 *
 *   condition   a condition negated; `&&` for `||`; `===` for `!==`
 *   bound       `<` for `<=`; one more or one less, also for a range's `from` and `to`; `+` for
 *               `-`; min for max
 *   await       a promise not awaited, or awaited one statement later
 *   statement   a call, an assignment, a `throw`, `return`, `break` or `continue` left out
 *   swap        two arguments or two properties of one kind exchanged
 *   constant    0 for 1, true for false
 *
 * An operator knows only syntax. skips.ts decides what is not worth changing.
 */
import { awaits } from './operators/awaits.ts';
import { bounds } from './operators/bounds.ts';
import { conditions } from './operators/conditions.ts';
import { constants } from './operators/constants.ts';
import { statements } from './operators/statements.ts';
import { swaps } from './operators/swaps.ts';
import type { Edit, NodePath } from './syntax-tree.ts';

export type OperatorName = 'condition' | 'bound' | 'await' | 'statement' | 'swap' | 'constant';

type Operator = (place: NodePath, text: string) => readonly Edit[];

export const OPERATORS: Readonly<Record<OperatorName, Operator>> = {
  condition: conditions,
  bound: bounds,
  await: awaits,
  statement: statements,
  swap: swaps,
  constant: constants,
};
