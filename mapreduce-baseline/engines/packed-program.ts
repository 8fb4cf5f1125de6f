/**
 * A job as one file that travels to machines without this repository: Node itself, the streaming
 * program, the module of the job, and all that these import, in a tar file. The machines need a
 * system and a processor of the same kind as this one, and nothing else.
 *
 * A module is found by the place of the module that imports it, so the files keep their places
 * relative to one another; a module that is named by an absolute path is not found there.
 */
import { realpath } from 'node:fs/promises';
import { dirname, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MapReduceError } from '../errors.ts';
import { encodedParameters, SHELL, STREAMING_PROGRAM, STREAMING_STARTER } from './engine.ts';

const LOADED_FILES = fileURLToPath(new URL('loaded-files.ts', import.meta.url));

export interface PackedProgram {
  /** The command of one side of a job, for a folder in which the tar was unpacked into `name`. */
  command(name: string, side: 'map' | 'reduce', parameters: unknown): string[];
}

/**
 * @param url of the job's module
 * @param file the tar file to write
 * @throws INVALID_ARGUMENT if the job cannot be loaded
 */
export async function packProgram(url: string, file: string): Promise<PackedProgram> {
  const programs = [STREAMING_STARTER, process.execPath, STREAMING_PROGRAM];
  const files = [...programs, ...(await loadedFiles(url))];
  const root = commonFolder(files);
  const inRoot = (name: string): string => relative(root, name);
  const input = [...new Set(files)].map((name) => `${inRoot(name)}\n`).join('');
  const { execa } = await import('execa');
  await execa('tar', ['-c', '-f', file, '-C', root, '-T', '-'], { input });
  const module = relative(dirname(STREAMING_PROGRAM), await realpath(fileURLToPath(url)));
  // As a URL, in which a # or a % of a path is encoded.
  const specifier = `./${module.split(sep).map(encodeURIComponent).join('/')}`;
  return {
    command: (name, side, parameters) => [
      SHELL,
      ...programs.map((program) => `${name}/${inRoot(program)}`),
      side,
      specifier,
      encodedParameters(parameters),
    ],
  };
}

/** Loads the modules in a process of its own: this process has loaded some of them already. */
async function loadedFiles(url: string): Promise<readonly string[]> {
  const imported = ['errors', 'load-job', 'streaming'].map(
    (name) => new URL(`../${name}.ts`, import.meta.url).href,
  );
  const { execa } = await import('execa');
  const { failed, stdout, stderr } = await execa(
    SHELL,
    [STREAMING_STARTER, process.execPath, LOADED_FILES, ...imported, url],
    { reject: false },
  );
  if (!failed) return stdout.split('\n');
  throw new MapReduceError('INVALID_ARGUMENT', `the job ${url} cannot be loaded: ${stderr}`);
}

/** The deepest folder that has all the files. */
function commonFolder(files: readonly string[]): string {
  const [first = [], ...rest] = files.map((file) => dirname(file).split(sep));
  const isShared = (part: string, i: number): boolean => rest.every((parts) => parts[i] === part);
  const end = first.findIndex((part, i) => !isShared(part, i));
  return first.slice(0, end === -1 ? undefined : end).join(sep) || sep;
}
