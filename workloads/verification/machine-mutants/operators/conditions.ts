/** Conditions negated, `&&` for `||`, `===` for `!==`, a `!` left out. */
import type { Node } from 'oxc-parser';
import { codeOf, type Edit, type NodePath, replace } from '../syntax-tree.ts';

const OTHER: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
};

export function conditions(place: NodePath, text: string): readonly Edit[] {
  const { node } = place;
  const edits: Edit[] = [];
  if (isTest(place)) edits.push(replace(node, `!(${codeOf(text, node)})`));
  if (node.type === 'LogicalExpression') edits.push(...withOther(node, text));
  // For a whole test the changes below would repeat its negation.
  if (isTest(place)) return edits;
  if (node.type === 'BinaryExpression') edits.push(...withOther(node, text));
  if (node.type === 'UnaryExpression' && node.operator === '!') {
    edits.push(replace(node, `(${codeOf(text, node.argument)})`));
  }
  return edits;
}

function withOther(
  node: Extract<Node, { type: 'LogicalExpression' | 'BinaryExpression' }>,
  text: string,
): readonly Edit[] {
  const other = OTHER[node.operator];
  if (other === undefined) return [];
  return [replace(node, `(${codeOf(text, node.left)} ${other} ${codeOf(text, node.right)})`)];
}

function isTest({ node, ancestors: [parent] }: NodePath): boolean {
  return (
    parent !== undefined && 'test' in parent && parent.test === node && node.type !== 'Literal'
  );
}
