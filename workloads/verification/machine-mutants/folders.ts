/** Which files of the engine are changed: by folder, without tests and fixtures. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

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
