/**
 * Mutants of a file: each is the text with one change that an operator makes.
 *
 * A mutant is identified by its change and the text of its line, not by the line's position, so
 * that a list of mutants stays right when the file changes elsewhere. Only equal changes of equal
 * lines are numbered, in the order of the file.
 */
import { OPERATORS, type OperatorName } from './operators.ts';
import { applied, type Edit, parses, nodePathsOf } from './syntax-tree.ts';
import { type SkipName, skipOf } from './skips.ts';

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
  /** How many changes each rule of skips.ts has prevented. */
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
