/** Bounds moved by one, and inverted arithmetic. */
import type { Node } from 'oxc-parser';
import { codeOf, type Edit, type NodePath, replace } from '../syntax-tree.ts';

const OTHER: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '+=': '-=',
  '-=': '+=',
  '++': '--',
  '--': '++',
  min: 'max',
  max: 'min',
};

/** The properties that bound a range of timestamps; both are included in it. */
const LIMITS = new Set(['from', 'to']);

export function bounds({ node, ancestors: [parent] }: NodePath, text: string): readonly Edit[] {
  if (node.type === 'BinaryExpression') return inArithmetic(node, text);
  if (node.type === 'AssignmentExpression') {
    const other = OTHER[node.operator];
    if (other === undefined || isText(node.right)) return [];
    return [replace(node, `${codeOf(text, node.left)} ${other} ${codeOf(text, node.right)}`)];
  }
  if (node.type === 'UpdateExpression') {
    return [replace(node, codeOf(text, node).replace(node.operator, OTHER[node.operator] ?? ''))];
  }
  if (node.type === 'Property' && parent?.type === 'ObjectExpression') return ofRange(node, text);
  if (node.type === 'MemberExpression' && codeOf(text, node.object) === 'Math') {
    const other = OTHER[codeOf(text, node.property)];
    return other === undefined ? [] : [replace(node.property, other)];
  }
  return [];
}

function inArithmetic(
  node: Extract<Node, { type: 'BinaryExpression' }>,
  text: string,
): readonly Edit[] {
  const other = OTHER[node.operator];
  if (other === undefined || isText(node.left) || isText(node.right)) return [];
  const left = codeOf(text, node.left);
  const isOne = node.right.type === 'Literal' && node.right.value === 1;
  if (isOne && '+-'.includes(node.operator)) return [replace(node, left)];
  return [replace(node, `(${left} ${other} ${codeOf(text, node.right)})`)];
}

function ofRange(node: Extract<Node, { type: 'Property' }>, text: string): readonly Edit[] {
  const name = codeOf(text, node.key);
  const value = codeOf(text, node.value);
  if (!LIMITS.has(name) || node.method || isText(node.value)) return [];
  return [replace(node, `${name}: (${value}) - 1`), replace(node, `${name}: (${value}) + 1`)];
}

/** Whether it is certainly a text, from which nothing can be subtracted. */
function isText(node: Node): boolean {
  if (node.type === 'BinaryExpression') return isText(node.left) || isText(node.right);
  return (
    node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string')
  );
}
