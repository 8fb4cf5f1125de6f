/**
 * `./run.sh lines`: counts the lines and modules of each folder: production, tests, and what only
 * tests use. The last column is the number of splinters: small modules that are a part of their one
 * importer (modules.ts).
 *
 * `--shrink` takes off the list of splinters what is none any more. Whatever else the file holds,
 * such as the marks of a merge that failed, goes too.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { flag, runCommand } from '#harness';
import {
  moduleOf,
  type ModuleKind,
  moduleTexts,
  type SourceModule,
  SPLINTERS_FILE,
  splintersOf,
} from './modules.ts';

const HEAD = ['folder', 'lines', 'modules', 'mean', 'tests', 'files', 'support', 'files', 'small'];

const specification = {
  script: 'lines',
  description:
    'Counts the lines and modules of TypeScript of each folder: production, tests, and what only ' +
    'tests use; and the small modules that are a part of their one importer.',
  options: {
    shrink: flag({
      description: 'also take off checks/splinters.txt what is no splinter any more',
    }),
  },
  examples: [{ command: './run.sh lines', does: 'one line for each folder, and their sum' }],
} as const;

await runCommand(specification, ({ shrink }) => {
  const texts = moduleTexts();
  const splinters = splintersOf(texts);
  if (shrink) shrinkList(splinters);
  const modules = [...texts].map(([file, text]) => moduleOf(file, text));
  const folders = Map.groupBy(modules, ({ file }) => folderOf(file));
  const rows = [...folders].map(([folder, own]) => rowOf(folder, own, splinters));
  process.stdout.write(tableOf([HEAD, ...rows, rowOf('all', modules, splinters)]));
  return Promise.resolve();
});

function shrinkList(splinters: ReadonlyMap<string, string>): void {
  const listed = new Set(readFileSync(SPLINTERS_FILE, 'utf8').split('\n'));
  const left = [...listed].filter((file) => splinters.has(file)).toSorted();
  writeFileSync(SPLINTERS_FILE, left.map((file) => `${file}\n`).join(''));
}

/** `engine/transaction` for all below it; `engine` for the files of `engine/` itself. */
function folderOf(file: string): string {
  const folders = file.split('/').slice(0, -1);
  return folders.length === 0 ? 'root' : folders.slice(0, 2).join('/');
}

function rowOf(
  folder: string,
  modules: readonly SourceModule[],
  splinters: ReadonlyMap<string, string>,
): readonly string[] {
  const of = (kind: ModuleKind): readonly [lines: number, files: number] => {
    const own = modules.filter((module) => module.kind === kind);
    return [own.reduce((sum, { lines }) => sum + lines, 0), own.length];
  };
  const [lines, files] = of('production');
  const mean = files === 0 ? 0 : Math.round(lines / files);
  const small = modules.filter(({ file }) => splinters.has(file)).length;
  return [folder, ...[lines, files, mean, ...of('test'), ...of('support'), small].map(String)];
}

function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = HEAD.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const lines = rows.map(([folder = '', ...numbers]) => {
    const cells = numbers.map((cell, i) => cell.padStart((widths[i + 1] ?? 0) + 2));
    return `${folder.padEnd(widths[0] ?? 0)}${cells.join('')}\n`;
  });
  return lines.join('');
}
