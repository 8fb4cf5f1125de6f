/**
 * A TypeScript text as a tree, walked with the path to each node, as the operators see it.
 *
 * Types are not visited, because Node strips them: a changed type changes nothing that runs.
 */
import { type Node, parseSync, visitorKeys } from 'oxc-parser';

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

export function replace(node: Node, replacement: string): Edit {
  return { start: node.start, end: node.end, replacement };
}

export function applied(text: string, { start, end, replacement }: Edit): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/**
 * The statements around this one, including it; undefined if it is alone, as in `if (a) b();`, or
 * directly in a `case`.
 */
export function siblingsOf({ node, ancestors }: NodePath): readonly Node[] | undefined {
  const [parent] = ancestors;
  const list = parent !== undefined && 'body' in parent ? parent.body : undefined;
  return Array.isArray(list) && list.includes(node as never) ? list : undefined;
}
