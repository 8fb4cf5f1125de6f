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
 * An operator knows only syntax. generate.ts decides what is not worth changing.
 */
import { type Node, parseSync, visitorKeys } from 'oxc-parser';

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

/* Conditions negated, `&&` for `||`, `===` for `!==`, a `!` left out. */

const OTHER_CONDITION: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
};

function conditions(place: NodePath, text: string): readonly Edit[] {
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
  const other = OTHER_CONDITION[node.operator];
  if (other === undefined) return [];
  return [replace(node, `(${codeOf(text, node.left)} ${other} ${codeOf(text, node.right)})`)];
}

function isTest({ node, ancestors: [parent] }: NodePath): boolean {
  return (
    parent !== undefined && 'test' in parent && parent.test === node && node.type !== 'Literal'
  );
}

/* Bounds moved by one, and inverted arithmetic. */

const OTHER_BOUND: Readonly<Record<string, string>> = {
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

function bounds({ node, ancestors: [parent] }: NodePath, text: string): readonly Edit[] {
  if (node.type === 'BinaryExpression') return inArithmetic(node, text);
  if (node.type === 'AssignmentExpression') {
    const other = OTHER_BOUND[node.operator];
    if (other === undefined || isText(node.right)) return [];
    return [replace(node, `${codeOf(text, node.left)} ${other} ${codeOf(text, node.right)}`)];
  }
  if (node.type === 'UpdateExpression') {
    return [
      replace(node, codeOf(text, node).replace(node.operator, OTHER_BOUND[node.operator] ?? '')),
    ];
  }
  if (node.type === 'Property' && parent?.type === 'ObjectExpression') return ofRange(node, text);
  if (node.type === 'MemberExpression' && codeOf(text, node.object) === 'Math') {
    const other = OTHER_BOUND[codeOf(text, node.property)];
    return other === undefined ? [] : [replace(node.property, other)];
  }
  return [];
}

function inArithmetic(
  node: Extract<Node, { type: 'BinaryExpression' }>,
  text: string,
): readonly Edit[] {
  const other = OTHER_BOUND[node.operator];
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

/*
 * 0 for 1, true for false, and the other way round. A 1 that is added or subtracted is a bound.
 */

const OTHER_CONSTANT = new Map<unknown, string>([
  [0, '1'],
  [1, '0'],
  [true, 'false'],
  [false, 'true'],
]);

function constants({ node, ancestors: [parent] }: NodePath): readonly Edit[] {
  if (node.type !== 'Literal') return [];
  const other = OTHER_CONSTANT.get(node.value);
  if (other === undefined) return [];
  const isAdded =
    parent?.type === 'BinaryExpression' && '+-'.includes(parent.operator) && parent.right === node;
  return isAdded && node.value === 1 ? [] : [replace(node, other)];
}

/*
 * Promises that are not awaited, or awaited one statement later than they should be.
 *
 * Where the value of the promise is used, it can only be awaited later: without the `await` the
 * types would be wrong, and the compiler finds that.
 */

/** Code after these is not reached. */
const LAST = new Set(['ReturnStatement', 'ThrowStatement', 'BreakStatement', 'ContinueStatement']);

/** State that other processes, and other turns of this one, may change in the meantime. */
const SHARED = ['await', 'this', 'context'];

function awaits(place: NodePath, text: string): readonly Edit[] {
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

/*
 * Statements left out: calls, assignments, and those that leave a block: `throw`, `return`,
 * `break`, `continue`.
 */

const EFFECTS = new Set([
  'CallExpression',
  'AssignmentExpression',
  'AwaitExpression',
  'UpdateExpression',
  'UnaryExpression',
  'ChainExpression',
]);

function statements(place: NodePath): readonly Edit[] {
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

/*
 * Two neighbours of one kind exchanged: arguments of a call, or properties of an object.
 *
 * The name tells the kind. Exchanging neighbours of different kinds would be a type error, which
 * the compiler finds.
 */

const KINDS: readonly (readonly [string, RegExp])[] = [
  ['timestamp', /timestamp$|horizon$|^(?:from|to|first|since|at|bound|limit|counter|epoch)$/i],
  ['duration', /Ms$/],
  ['name', /^(?:table|row|column|family|qualifier|key|token|owner)$|Row$|Key$/],
  ['mutations', /^if(?:Not)?Found$/],
];

function swaps({ node }: NodePath, text: string): readonly Edit[] {
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

/*
 * A TypeScript text as a tree, walked with the path to each node, as the operators see it.
 *
 * Types are not visited, because Node strips them: a changed type changes nothing that runs.
 */

/** A node, and the nodes around it, the nearest first. */
export interface NodePath {
  readonly node: Node;
  readonly ancestors: readonly Node[];
}

/** A change of the text: the part from `start` up to `end` is replaced. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** How to describe it, where the texts themselves would be too long: before and after. */
  readonly description?: readonly [string, string];
}

/** TypeScript's own nodes that contain code; the rest of each is types. */
const CASTS = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression']);

/** All places of the text, from the outside to the inside, in the order of the text. */
export function nodePathsOf(file: string, text: string): readonly NodePath[] {
  const { program, errors } = parseSync(file, text);
  const [error] = errors;
  if (error !== undefined) throw new SyntaxError(`${file}: ${error.message}`);
  const places: NodePath[] = [];
  visit(program, [], places);
  return places;
}

export function parses(file: string, text: string): boolean {
  return parseSync(file, text).errors.length === 0;
}

function visit(node: Node, ancestors: readonly Node[], places: NodePath[]): void {
  if (node.type.startsWith('TS') && !CASTS.has(node.type)) return;
  places.push({ node, ancestors });
  for (const child of childrenOf(node)) visit(child, [node, ...ancestors], places);
}

function childrenOf(node: Node): readonly Node[] {
  const fields = node as unknown as Readonly<Record<string, unknown>>;
  return (visitorKeys[node.type] ?? [])
    .flatMap((key) => fields[key])
    .filter((child): child is Node => typeof child === 'object' && child !== null);
}

export function codeOf(text: string, { start, end }: Node): string {
  return text.slice(start, end);
}

function replace(node: Node, replacement: string): Edit {
  return { start: node.start, end: node.end, replacement };
}

export function applied(text: string, { start, end, replacement }: Edit): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/**
 * The statements around this one, including it; undefined if it is alone, as in `if (a) b();`, or
 * directly in a `case`.
 */
function siblingsOf({ node, ancestors }: NodePath): readonly Node[] | undefined {
  const [parent] = ancestors;
  const list = parent !== undefined && 'body' in parent ? parent.body : undefined;
  return Array.isArray(list) && list.includes(node as never) ? list : undefined;
}
