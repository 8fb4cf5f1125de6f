/**
 * Mutants of the engine's files: each is the text with one change that an operator makes, unless a
 * rule in SKIPS says that the change would tell nothing.
 *
 * A mutant is identified by its change and the text of its line, not by the line's position, so
 * that a list of mutants stays right when the file changes elsewhere. Only equal changes of equal
 * lines are numbered, in the order of the file.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Node } from 'oxc-parser';
import { type OperatorName, OPERATORS } from './operators.ts';
import { applied, codeOf, type Edit, type NodePath, nodePathsOf, parses } from './operators.ts';

export interface MachineMutant extends Edit {
  /** From the root of the project: `engine/oracle/allocator.ts`. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly operator: OperatorName;
  /** The code that changes, on one line, and its replacement. */
  readonly before: string;
  readonly after: string;
  /** Unique in the file: operator, line, change, and a number from the second equal one on. */
  readonly key: string;
}

export interface GeneratedMutants {
  readonly mutants: readonly MachineMutant[];
  /** How many changes each rule of SKIPS has prevented. */
  readonly skipped: Readonly<Partial<Record<SkipName, number>>>;
}

export function mutantsOf(file: string, text: string): GeneratedMutants {
  const mutants: MachineMutant[] = [];
  const skipped: Partial<Record<SkipName, number>> = {};
  const known = new Map<string, number>();
  for (const place of nodePathsOf(file, text)) {
    for (const operator of Object.keys(OPERATORS) as OperatorName[]) {
      const skip = skipOf(place, text, operator);
      for (const edit of OPERATORS[operator](place, text)) {
        if (skip === undefined) mutants.push(named({ file, operator, text, known }, edit));
        else skipped[skip] = (skipped[skip] ?? 0) + 1;
      }
    }
  }
  return { mutants, skipped };
}

/** The text with the mutant's change in it. */
export function mutated(text: string, mutant: MachineMutant): string {
  const after = applied(text, mutant);
  if (parses(mutant.file, after)) return after;
  throw new SyntaxError(`${mutant.file}:${mutant.line}: ${mutant.key} does not parse`);
}

interface MutantNaming {
  readonly file: string;
  readonly operator: OperatorName;
  readonly text: string;
  /** How often a key has been used so far. */
  readonly known: Map<string, number>;
}

function named({ file, operator, text, known }: MutantNaming, edit: Edit): MachineMutant {
  const lineStart = text.lastIndexOf('\n', edit.start - 1) + 1;
  const lineEnd = text.indexOf('\n', edit.start);
  const lineText = text.slice(lineStart, lineEnd === -1 ? undefined : lineEnd).trim();
  const [from, to] = edit.description ?? [text.slice(edit.start, edit.end), edit.replacement];
  const before = onOneLine(from);
  const after = onOneLine(to);
  const where = lineText.startsWith(before) || before.startsWith(lineText) ? '' : `${lineText}: `;
  const plain = `${operator}: ${where}${before} -> ${after}`;
  const times = (known.get(plain) ?? 0) + 1;
  known.set(plain, times);
  const line = text.slice(0, edit.start).split('\n').length;
  const key = times === 1 ? plain : `${plain} (${times})`;
  return { ...edit, file, line, operator, before, after, key };
}

function onOneLine(code: string): string {
  return code.replaceAll(/\s+/g, ' ').trim();
}

/**
 * Orders mutants so that every prefix is a fair sample: each folder and operator has its share, and
 * a seed decides at random which of their mutants come first.
 */
export function inFairOrder(
  mutants: readonly MachineMutant[],
  seed: number,
): readonly MachineMutant[] {
  const drawn = mutants.map((mutant) => {
    return { mutant, draw: digestOf(String(seed), mutant.file, mutant.key) };
  });
  const strata = Map.groupBy(
    drawn.toSorted((a, b) => (a.draw < b.draw ? -1 : 1)),
    ({ mutant }) => `${folderOf(mutant.file)} ${mutant.operator}`,
  );
  return [...strata.values()]
    .flatMap((stratum) => stratum.map((one, i) => ({ ...one, share: (i + 0.5) / stratum.length })))
    .toSorted((a, b) => a.share - b.share || (a.draw < b.draw ? -1 : 1))
    .map(({ mutant }) => mutant);
}

/*
 * The rules for code that is not changed, each with its reason. Skipped mutants are counted as
 * skipped, never as killed.
 *
 * No operator changes the words of a message, so there is no rule for those. The rules say "this
 * says nothing about the protocol", not "our tests do not find this": a mutant that acts like the
 * engine, for a reason of its own, is listed in equivalents/.
 */

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

function skipOf(place: NodePath, text: string, operator: OperatorName): SkipName | undefined {
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

/* Which files of the engine are changed: by folder, without tests and fixtures. */

export const ROOT: string = path.resolve(import.meta.dirname, '../../..');

/** Files kept between two runs, outside of git. */
export const KEPT: string = path.join(ROOT, 'results/runs/mutants-machine');

/** The folders of the engine that keep the promises of protocol.md. */
export const FOLDERS = [
  'transaction',
  'observer',
  'oracle',
  'lock-service',
  'leases',
  'garbage-collection',
  'bigtable/batching',
] as const;

export type Folder = (typeof FOLDERS)[number];

/** From the root of the project, in alphabetical order. */
export function filesOf(folder: Folder): readonly string[] {
  const patterns = [`engine/${folder}/**/*.ts`, `engine/${folder}.ts`];
  return globSync(patterns, { cwd: ROOT })
    .map((file) => file.replaceAll(path.sep, '/'))
    .filter((file) => !/\.(?:test|fixture)\.ts$/.test(file))
    .toSorted();
}

export function folderOf(file: string): Folder {
  const found = FOLDERS.find((folder) => file.startsWith(`engine/${folder}`));
  if (found === undefined) throw new RangeError(`no mutants are made of ${file}`);
  return found;
}

const sources = new Map<string, string>();

/**
 * The file as it was when this process first read it. A mutant's place is counted in that text; if
 * the file changes during the hours of a run, the verdict still says which text it is about.
 */
export function readSource(file: string): string {
  const text = sources.get(file) ?? readFileSync(path.join(ROOT, file), 'utf8');
  sources.set(file, text);
  return text;
}

/** A digest that shows whether texts have changed. */
export function digestOf(...texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text).update('\0');
  return hash.digest('hex').slice(0, 16);
}
