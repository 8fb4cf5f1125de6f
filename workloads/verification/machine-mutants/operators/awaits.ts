/**
 * Promises that are not awaited, or awaited one statement later than they should be.
 *
 * Where the value of the promise is used, it can only be awaited later: without the `await` the
 * types would be wrong, and the compiler finds that.
 */
import type { Node } from 'oxc-parser';
import { codeOf, type Edit, type NodePath, replace, siblingsOf } from '../syntax-tree.ts';

/** Code after these is not reached. */
const LAST = new Set(['ReturnStatement', 'ThrowStatement', 'BreakStatement', 'ContinueStatement']);

/** State that other processes, and other turns of this one, may change in the meantime. */
const SHARED = ['await', 'this', 'context'];

export function awaits(place: NodePath, text: string): readonly Edit[] {
  const { node } = place;
  if (node.type === 'ReturnStatement' && node.argument?.type === 'AwaitExpression') {
    return [replace(node, `return ${codeOf(text, node.argument.argument)};`)];
  }
  if (node.type === 'ExpressionStatement' && node.expression.type === 'AwaitExpression') {
    const promise = codeOf(text, node.expression.argument);
    return [replace(node, `void ${promise};`), ...later(place, text, { promise, before: '' })];
  }
  if (node.type !== 'VariableDeclaration') return [];
  const [declared, ...others] = node.declarations;
  if (declared?.init?.type !== 'AwaitExpression' || others.length > 0) return [];
  const promise = codeOf(text, declared.init.argument);
  const before = `${node.kind} ${codeOf(text, declared.id)} = `;
  return later(place, text, { promise, before, names: namesIn(codeOf(text, declared.id)) });
}

interface AwaitedPromise {
  readonly promise: string;
  /** The text before the `await`. */
  readonly before: string;
  /** Names that the next statement must not use, because they are declared only after it. */
  readonly names?: readonly string[];
}

function later(
  place: NodePath,
  text: string,
  { promise, before, names = [] }: AwaitedPromise,
): readonly Edit[] {
  const siblings = siblingsOf(place) ?? [];
  const next = siblings[siblings.indexOf(place.node) + 1];
  if (next === undefined || LAST.has(next.type)) return [];
  const used = namesIn(codeOf(text, next));
  if (!mayNotice(next, used)) return [];
  if (names.some((name) => used.includes(name))) return [];
  const between = text.slice(place.node.end, next.end);
  return [
    {
      start: place.node.start,
      end: next.end,
      description: [codeOf(text, place.node), 'awaited one statement later'],
      replacement: `const awaitedLater = ${promise};${between} ${before}await awaitedLater;`,
    },
  ];
}

/**
 * A constant computed from other constants is the same a moment earlier, and counters affect
 * nothing.
 */
function mayNotice(next: Node, used: readonly string[]): boolean {
  if (next.type === 'ExpressionStatement' && used.includes('counters')) return false;
  return next.type !== 'VariableDeclaration' || SHARED.some((name) => used.includes(name));
}

function namesIn(code: string): readonly string[] {
  return code.match(/[\w$]+/g) ?? [];
}
