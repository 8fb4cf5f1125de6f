/**
 * What a run on a Hadoop cluster does besides its jobs: it puts the program and this machine's
 * inputs into the cluster's file system, fetches the output, and ends jobs that are no longer
 * wanted.
 */
import { mkdir, realpath, symlink } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isUri } from '../input.ts';
import { MapReduceError } from '../job.ts';
import {
  type ChainRun,
  encodedParameters,
  runProgram,
  SHELL,
  STREAMING_PROGRAM,
  STREAMING_STARTER,
  type Workplace,
} from './engine.ts';
import { literalInput, moveParts } from './whole-files.ts';

export const NAME = 'Hadoop';

export interface HadoopAccess {
  /** Starts a class of Hadoop's; the name of the class and its arguments are appended. */
  readonly program: readonly string[];
  /** Settings of Hadoop by their names. They take precedence over those of its configuration. */
  readonly settings: Readonly<Record<string, string>>;
}

/** A run, and its place on this machine. */
export interface HadoopWork {
  readonly run: ChainRun;
  /** Paths or URIs. */
  readonly files: readonly string[];
  readonly place: Workplace;
}

/** What the tasks of a run find on their machines. */
export interface Staged {
  readonly command: (side: 'map' | 'reduce', parameters: unknown) => readonly string[];
  /** URIs of archives that each task gets. */
  readonly archives: readonly string[];
  /** URIs. */
  readonly inputs: readonly string[];
}

const CONFIGURATION = 'org.apache.hadoop.conf.Configuration';
const FILE_SYSTEM_SHELL = 'org.apache.hadoop.fs.FsShell';
const JOB_CLIENT = 'org.apache.hadoop.mapred.JobClient';
/**
 * Keep other users from reading the folder of a run, which may be in a folder that all users write
 * to, such as /tmp.
 */
const PRIVATE = settingWords({ 'fs.permissions.umask-mode': '077' });
/** The folder in which a task finds the program. */
const PROGRAM = 'program';

/** Settings as words of a command. Hadoop takes them only before the other words of a command. */
export function settingWords(settings: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-D', `${name}=${value}`]);
}

/**
 * The cluster's file system as a URI without a slash at its end; undefined if the configuration
 * names only that of the machine.
 */
export async function fileSystemOf({
  program,
  settings,
}: HadoopAccess): Promise<string | undefined> {
  // Run as a program, the class prints all settings as XML.
  const printed = await runProgram(NAME, [...program, CONFIGURATION], {});
  const [, configured] = /<name>fs\.defaultFS<\/name><value>([^<]*)</.exec(printed) ?? [];
  const uri = settings['fs.defaultFS'] ?? configured ?? 'file:///';
  return uri.startsWith('file:') ? undefined : uri.replace(/\/+$/, '');
}

/** Puts into the folder what the tasks need from this machine. */
export async function stage(
  access: HadoopAccess,
  { run, files, place, folder }: HadoopWork & { readonly folder: string },
): Promise<Staged> {
  const upload = join(place.work, 'upload');
  await mkdir(upload);
  const archive = `${PROGRAM}.tar`;
  const program = await packProgram(run.chain.url, join(upload, archive));
  const inputs: string[] = [];
  for (const [i, file] of files.entries()) {
    inputs.push(isUri(file) ? file : literalInput(`${folder}/upload/input-${i}`));
    if (!isUri(file)) await symlink(resolve(file), join(upload, `input-${i}`));
  }
  // The parent is made first, without PRIVATE: missing folders above `folder` must not be private.
  const parent = folder.slice(0, folder.lastIndexOf('/') + 1);
  await runShell(access, ['-mkdir', '-p', parent], run.signal);
  await runShell(access, [...PRIVATE, '-mkdir', folder], run.signal);
  await runShell(access, [...PRIVATE, '-put', encoded(upload), `${folder}/upload`], run.signal);
  return {
    command: (side, parameters) => program.command(PROGRAM, side, parameters),
    archives: [`${folder}/upload/${archive}#${PROGRAM}`],
    inputs,
  };
}

/** Brings the parts of an output to this machine. */
export async function fetchParts(
  access: HadoopAccess,
  from: string,
  { run, place }: HadoopWork,
): Promise<void> {
  const fetched = join(place.work, 'fetched');
  await runShell(access, ['-get', from, encoded(fetched)], run.signal);
  await moveParts(fetched, place.output);
}

export function removeFolder(access: HadoopAccess, folder: string): Promise<void> {
  return runShell(access, ['-rm', '-r', '-f', '-skipTrash', folder]);
}

/**
 * Kills the jobs of a program that was stopped, because they would run on without it.
 * @param said what that program had printed, with the ids of its jobs
 */
export async function killJobs({ program, settings }: HadoopAccess, said: string): Promise<void> {
  const ids = new Set(said.match(/\bjob_\d+_\d+\b/g));
  const client = [...program, JOB_CLIENT, ...settingWords(settings)];
  for (const id of ids) {
    // Why the program was stopped says more than why one of its jobs could not be killed.
    await runProgram(NAME, [...client, '-kill', id], {}).catch(() => {});
  }
}

/** A path of this machine, encoded as in a URI: the file system's shell decodes it. */
function encoded(path: string): string {
  return resolve(path).split(sep).map(encodeURIComponent).join('/');
}

async function runShell(
  { program, settings }: HadoopAccess,
  words: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const shell = [...program, FILE_SYSTEM_SHELL, ...settingWords(settings)];
  await runProgram(NAME, [...shell, ...words], {
    reason: /^(?:mkdir|put|get|rm): (?<told>.*)$/m,
    signal,
  });
}

/*
 * A job as one file that travels to machines without this repository: Node itself, the streaming
 * program, the module of the job, and all that these import, in a tar file. The machines need a
 * system and a processor of the same kind as this one, and nothing else.
 *
 * A module is found by the place of the module that imports it, so the files keep their places
 * relative to one another; a module that is named by an absolute path is not found there.
 */

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
  const imported = ['job', 'streaming'].map(
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
