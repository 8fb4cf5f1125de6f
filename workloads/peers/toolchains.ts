/**
 * Builds the programs of the peers, where this machine has the toolchain: what they need comes from
 * the registries of Go, Rust and Maven, once, and what is built is kept in the cache folder of
 * `./run.sh fetch`. A later build that finds everything there asks no network.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { type Artifacts, cacheFolder, classPathOf, javaOf } from '#engine';

const MINUTES_MAX = 20;
const REASON_LENGTH_MAX = 200;

export interface Building {
  /** Tells the user what takes long. */
  readonly tell: (line: string) => void;
  /** Ends a build. */
  readonly signal: AbortSignal;
}

/** The programs that this run has asked for, by name. */
const built = new Map<string, Promise<string>>();

/**
 * Resolves with the program; a second call builds nothing.
 * @throws Error the end of a sentence: why the program cannot be built here
 */
export function buildGo(name: string, building: Building): Promise<string> {
  const program = built.get(name) ?? goProgram(name, building);
  built.set(name, program);
  return program;
}

async function goProgram(name: string, building: Building): Promise<string> {
  const folder = await folderOf(name);
  const program = path.join(folder, name);
  const environment = {
    GOCACHE: path.join(folder, 'build'),
    GOMODCACHE: path.join(folder, 'modules'),
    GOFLAGS: '-modcacherw', // So that the folder can be removed.
  };
  await build(name, { words: ['go', 'build', '-o', program, '.'], environment, building });
  return program;
}

/** @throws as `buildGo` */
export async function buildRust(name: string, building: Building): Promise<string> {
  const folder = await folderOf(name);
  const words = ['cargo', 'build', '--release', '--quiet', '--target-dir', folder];
  await build(name, { words, building });
  return path.join(folder, 'release', name);
}

/** A program in Java: its name, its main class, and what Maven brings for it. */
export interface JavaProgram {
  readonly name: string;
  readonly main: string;
  readonly needs: Artifacts;
}

/** Resolves with its classes and all that they need. @throws as `buildGo` */
export async function buildJava(program: JavaProgram, building: Building): Promise<string> {
  const { name, main, needs } = program;
  const [folder, brought] = [
    await folderOf(name),
    await classPathOf(needs, process.env, building.tell),
  ];
  const javac = javaOf(process.env).replace(/java$/, 'javac');
  const options = ['-nowarn', '-proc:none', '-sourcepath', '.', '-d', folder, '-cp', brought];
  await build(name, { words: [javac, ...options, `${main}.java`], sources: 'java', building });
  return [folder, brought].join(path.delimiter);
}

async function folderOf(name: string): Promise<string> {
  const folder = path.join(cacheFolder('peers', process.env), name);
  await mkdir(folder, { recursive: true });
  return folder;
}

interface Build {
  /** The folder of the sources. Default: that of the name. */
  readonly sources?: string;
  readonly words: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly building: Building;
}

/** Runs the command in the folder of the program's sources. */
async function build(
  name: string,
  { sources = name, words: [tool = '', ...words], environment: env = {}, building }: Build,
): Promise<void> {
  const { tell, signal } = building;
  tell(`Building ${name} with ${tool}; the first time fetches what it needs.`);
  const { failed, code, stderr, timedOut } = await execa(tool, words, {
    cwd: path.join(import.meta.dirname, sources),
    env,
    reject: false,
    stdin: 'ignore',
    timeout: MINUTES_MAX * 60_000,
    cancelSignal: signal,
  });
  signal.throwIfAborted();
  if (!failed) return;
  if (code === 'ENOENT') throw new Error(`there is no ${tool} on PATH`);
  if (timedOut) throw new Error(`${tool} has not ended in ${MINUTES_MAX} minutes`);
  const line = stderr.split('\n').find((one) => one.trim() !== '');
  throw new Error(`${tool} fails: ${line?.slice(0, REASON_LENGTH_MAX) ?? 'it says nothing'}`);
}
