/**
 * The TypeScript modules of this repository: how long each is, what it is for, and which are
 * splinters.
 *
 * A splinter is a production module of under 80 lines that one other module imports, in the same
 * folder: a part of the other's idea, which a reader has to open as well. No splinter is:
 *
 *   - a program that another file or a script starts, and a front door, `index.ts`
 *   - what only a front door imports, because that re-exports and does nothing else
 *   - what a program and a test import, because nothing can import a program
 *   - what would make a file of more than 600 lines
 *
 * The importers are found by the text of the import, which the formatter writes in one way.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const LINES_MAX = 600;
const SPLINTER_LINES_MAX = 79;
const ROOT = path.resolve(import.meta.dirname, '..');

/** The splinters of the day when the rule began, one file on each line; the list only shrinks. */
export const SPLINTERS_FILE: string = path.join(import.meta.dirname, 'splinters.txt');

/** Support is what only tests use: their programs, and the folders named `testing`. */
export type ModuleKind = 'production' | 'test' | 'support';

export interface SourceModule {
  readonly file: string;
  readonly kind: ModuleKind;
  readonly lines: number;
}

/** The files that git tracks; without git, all files outside of node_modules and results/runs. */
export function projectFiles(): readonly string[] {
  const found = trackedFiles() ?? readdirSync(ROOT, { recursive: true, encoding: 'utf8' });
  return found
    .toSorted()
    .filter(
      (file) =>
        !/^(?:node_modules|\.git|results\/runs)(?:\/|$)/.test(file) &&
        existsSync(path.join(ROOT, file)),
    );
}

function trackedFiles(): readonly string[] | null {
  try {
    const list = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, stdio: 'pipe' }).toString();
    return list === '' ? null : list.split('\0').filter((file) => file !== '');
  } catch {
    return null;
  }
}

/** The texts of all modules, by file. */
export function moduleTexts(): ReadonlyMap<string, string> {
  const modules = projectFiles().filter((file) => file.endsWith('.ts'));
  return new Map(modules.map((file) => [file, readFileSync(path.join(ROOT, file), 'utf8')]));
}

export function moduleOf(file: string, text: string): SourceModule {
  return { file, kind: kindOf(file), lines: text.split('\n').length - 1 };
}

function kindOf(file: string): ModuleKind {
  if (file.endsWith('.test.ts')) return 'test';
  return /\.fixture\.ts$|(?:^|\/)testing\//.test(file) ? 'support' : 'production';
}

/** The splinters among modules, each with the module that it is a part of. */
export function splintersOf(texts: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const importers = importersOf(texts);
  const programs = programsOf(texts);
  const splinters = new Map<string, string>();
  for (const [file, text] of texts) {
    const { kind, lines } = moduleOf(file, text);
    if (kind !== 'production' || lines > SPLINTER_LINES_MAX) continue;
    if (programs.has(file) || isFrontDoor(file)) continue;
    const all = [...(importers.get(file) ?? [])];
    const [importer, ...others] = all.filter((from) => kindOf(from) === 'production');
    if (importer === undefined || others.length > 0) continue;
    if (path.posix.dirname(importer) !== path.posix.dirname(file)) continue;
    if (isFrontDoor(importer)) continue;
    if (programs.has(importer) && all.length > 1) continue;
    if (lines + moduleOf(importer, texts.get(importer) ?? '').lines > LINES_MAX) continue;
    splinters.set(file, importer);
  }
  return splinters;
}

/** The modules that import each module. */
function importersOf(texts: ReadonlyMap<string, string>): ReadonlyMap<string, ReadonlySet<string>> {
  const statement = /^(?:import|export)\b[^'";]*?\bfrom '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;
  const importers = new Map<string, Set<string>>();
  for (const [file, text] of texts) {
    for (const [, from, within = ''] of text.matchAll(statement)) {
      const imported = resolved(file, from ?? within);
      importers.set(imported, (importers.get(imported) ?? new Set()).add(file));
    }
  }
  return importers;
}

/** The scripts of package.json, and what is started by its URL, which some name themselves. */
function programsOf(texts: ReadonlyMap<string, string>): ReadonlySet<string> {
  const programs = new Set<string>();
  const manifest = readFileSync(path.join(ROOT, 'package.json'), 'utf8');
  for (const [, program = ''] of manifest.matchAll(/"node (\S+\.ts)"/g)) programs.add(program);
  for (const [file, text] of texts) {
    if (kindOf(file) !== 'production') continue;
    if (/\burl: import\.meta\.url\b/.test(text)) programs.add(file);
    for (const [, started = ''] of text.matchAll(/\bnew URL\(\s*'([^']+\.ts)'/g)) {
      programs.add(resolved(file, started));
    }
  }
  return programs;
}

function resolved(file: string, to: string): string {
  return path.posix.join(path.posix.dirname(file), to);
}

function isFrontDoor(file: string): boolean {
  return path.posix.basename(file) === 'index.ts';
}
