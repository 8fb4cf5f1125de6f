/**
 * Statements left out: calls, assignments, and those that leave a block: `throw`, `return`,
 * `break`, `continue`.
 */
import type { Node } from 'oxc-parser';
import { type Edit, type NodePath, replace } from '../syntax-tree.ts';

const EFFECTS = new Set([
  'CallExpression',
  'AssignmentExpression',
  'AwaitExpression',
  'UpdateExpression',
  'UnaryExpression',
  'ChainExpression',
]);

export function statements(place: NodePath): readonly Edit[] {
  return isWorthLeavingOut(place) ? [replace(place.node, ';')] : [];
}

function isWorthLeavingOut({ node, ancestors }: NodePath): boolean {
  if (node.type === 'ExpressionStatement') {
    return EFFECTS.has(node.expression.type) && !isSuper(node.expression);
  }
  // With a value only in a guard: without a function's last `return`, the compiler would refuse it.
  if (node.type === 'ReturnStatement') return node.argument === null || isGuard(ancestors);
  // In a `switch`, the compiler would refuse the fall-through.
  if (node.type === 'BreakStatement') return ancestors.find(isLeft)?.type !== 'SwitchStatement';
  return node.type === 'ThrowStatement' || node.type === 'ContinueStatement';
}

/** The statements that a `break` leaves. */
function isLeft({ type }: Node): boolean {
  return type === 'SwitchStatement' || /^(?:For|While|DoWhile)\w*Statement$/.test(type);
}

function isGuard([block, parent]: readonly Node[]): boolean {
  return block?.type === 'IfStatement' || parent?.type === 'IfStatement';
}

function isSuper(node: Node): boolean {
  return node.type === 'CallExpression' && node.callee.type === 'Super';
}
