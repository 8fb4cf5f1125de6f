/**
 * 0 for 1, true for false, and the other way round. A 1 that is added or subtracted is a bound
 * (bounds.ts).
 */
import { type Edit, type NodePath, replace } from '../syntax-tree.ts';

const OTHER = new Map<unknown, string>([
  [0, '1'],
  [1, '0'],
  [true, 'false'],
  [false, 'true'],
]);

export function constants({ node, ancestors: [parent] }: NodePath): readonly Edit[] {
  if (node.type !== 'Literal') return [];
  const other = OTHER.get(node.value);
  if (other === undefined) return [];
  const isAdded =
    parent?.type === 'BinaryExpression' && '+-'.includes(parent.operator) && parent.right === node;
  return isAdded && node.value === 1 ? [] : [replace(node, other)];
}
