/**
 * The rules for code that is not changed, each with its reason. Skipped mutants are counted as
 * skipped, never as killed.
 *
 * No operator changes the words of a message, so there is no rule for those. The rules say "this
 * says nothing about the protocol", not "our tests do not find this": a mutant that acts like the
 * engine, for a reason of its own, is listed in equivalents/.
 */
import type { Node } from 'oxc-parser';
import type { OperatorName } from './operators.ts';
import { codeOf, type NodePath } from './syntax-tree.ts';

interface Skip {
  readonly reason: string;
  readonly applies: (place: NodePath, text: string, operator: OperatorName) => boolean;
}

export type SkipName = 'assertion' | 'counter' | 'step' | 'field' | 'timer' | 'bug' | 'signal';

export const SKIPS: Readonly<Record<SkipName, Skip>> = {
  assertion: {
    reason: 'an assertion states what is always true: weakening it changes nothing that runs',
    applies: (place, text) =>
      within(place, (node) => isCallOf(node, text, /^(?:assert|unreachable)$/)),
  },
  counter: {
    reason: 'counters are for reports; no decision depends on them',
    applies: (place, text) =>
      within(place, (node) => isEffect(node) && /\bcounters\.\w+/.test(targetOf(node, text))),
  },
  step: {
    reason: 'a loop whose step is changed never ends, or never begins, and shows nothing',
    applies: ({ node, ancestors }) =>
      ancestors.some(
        (one, i) => one.type === 'ForStatement' && one.update === [node, ...ancestors][i],
      ),
  },
  field: {
    reason: 'the compiler refuses a constructor that leaves a field without its value',
    applies: (place, text, operator) =>
      operator === 'statement' &&
      /^this\.#?\w+ = /.test(codeOf(text, place.node)) &&
      place.ancestors.some((one) => one.type === 'MethodDefinition' && one.kind === 'constructor'),
  },
  bug: {
    reason:
      'an error other than PercolatorError is a bug of the program; nothing is promised after it',
    applies: ({ node, ancestors }, text, operator) =>
      operator === 'statement' &&
      node.type === 'ThrowStatement' &&
      ancestors.some((one) => one.type === 'IfStatement' && isAboutBugs(codeOf(text, one.test))),
  },
  signal: {
    reason: 'signal 0 asks whether a process exists; any other may hit an unrelated process',
    applies: (place, text) => within(place, (node) => isCallOf(node, text, /^kill$/)),
  },
  timer: {
    reason: 'whether a timer keeps a process alive is visible only from outside of the process',
    applies: ({ node }, text) => /\bunref\??\.?\(\);$/.test(codeOf(text, node)),
  },
};

export function skipOf(
  place: NodePath,
  text: string,
  operator: OperatorName,
): SkipName | undefined {
  const names = Object.keys(SKIPS) as SkipName[];
  return names.find((name) => SKIPS[name].applies(place, text, operator));
}

function isAboutBugs(test: string): boolean {
  return test === '!(error instanceof PercolatorError)';
}

function within({ node, ancestors }: NodePath, matches: (node: Node) => boolean): boolean {
  return matches(node) || ancestors.some(matches);
}

function isCallOf(node: Node, text: string, name: RegExp): boolean {
  const call = node.type === 'ExpressionStatement' ? node.expression : node;
  return call.type === 'CallExpression' && name.test(codeOf(text, call.callee));
}

function isEffect(node: Node): boolean {
  const effect = node.type === 'ExpressionStatement' ? node.expression : node;
  return effect.type === 'UpdateExpression' || effect.type === 'AssignmentExpression';
}

function targetOf(node: Node, text: string): string {
  const effect = node.type === 'ExpressionStatement' ? node.expression : node;
  if (effect.type === 'UpdateExpression') return codeOf(text, effect.argument);
  return effect.type === 'AssignmentExpression' ? codeOf(text, effect.left) : '';
}
