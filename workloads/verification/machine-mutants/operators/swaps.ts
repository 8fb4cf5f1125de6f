/**
 * Two neighbours of one kind exchanged: arguments of a call, or properties of an object.
 *
 * The name tells the kind. Exchanging neighbours of different kinds would be a type error, which
 * the compiler finds.
 */
import type { Node } from 'oxc-parser';
import { codeOf, type Edit, type NodePath } from '../syntax-tree.ts';

const KINDS: readonly (readonly [string, RegExp])[] = [
  ['timestamp', /timestamp$|horizon$|^(?:from|to|first|since|at|bound|limit|counter|epoch)$/i],
  ['duration', /Ms$/],
  ['name', /^(?:table|row|column|family|qualifier|key|token|owner)$|Row$|Key$/],
  ['mutations', /^if(?:Not)?Found$/],
];

export function swaps({ node }: NodePath, text: string): readonly Edit[] {
  if (node.type === 'CallExpression' || node.type === 'NewExpression') {
    if (codeOf(text, node.callee).endsWith('Error')) return []; // A message is not code.
    return pairsOf(node.arguments).flatMap(([a, b]) =>
      sameKind(text, a, b) ? [exchanged(text, a, b)] : [],
    );
  }
  if (node.type !== 'ObjectExpression') return [];
  return pairsOf(node.properties).flatMap(([a, b]) => {
    if (!isPlain(a) || !isPlain(b)) return [];
    if (!sameKind(text, a.key, b.key)) return [];
    const before = [codeOf(text, a.value), codeOf(text, b.value)];
    if (before[0] === before[1]) return [];
    const between = text.slice(a.end, b.start);
    const [first, second] = [codeOf(text, a.key), codeOf(text, b.key)];
    const replacement = `${first}: ${before[1]}${between}${second}: ${before[0]}`;
    return [{ start: a.start, end: b.end, replacement }];
  });
}

/** Not a method, a getter or a spread. */
function isPlain(node: Node): node is Extract<Node, { type: 'Property' }> {
  return node.type === 'Property' && node.kind === 'init' && !node.method;
}

function pairsOf<T>(items: readonly T[]): readonly (readonly [T, T])[] {
  return items.slice(1).map((item, i) => [items[i] as T, item]);
}

function exchanged(text: string, a: Node, b: Node): Edit {
  const between = text.slice(a.end, b.start);
  return {
    start: a.start,
    end: b.end,
    replacement: `${codeOf(text, b)}${between}${codeOf(text, a)}`,
  };
}

function sameKind(text: string, a: Node, b: Node): boolean {
  if (codeOf(text, a) === codeOf(text, b)) return false;
  if (a.type === 'Literal' && b.type === 'Literal') return typeof a.value === typeof b.value;
  const kind = kindOf(text, a);
  return kind !== undefined && kind === kindOf(text, b);
}

/** The kind of the last name, which is `counter` in `this.#lease.counter`. */
function kindOf(text: string, node: Node): string | undefined {
  if (node.type !== 'Identifier' && node.type !== 'MemberExpression') return undefined;
  const name = /[\w$]+$/.exec(codeOf(text, node))?.[0] ?? '';
  return KINDS.find(([, names]) => names.test(name))?.[0];
}
