/**
 * The programs of a local cluster, such as HBase's, as child processes with one folder for their
 * files.
 *
 * All processes end when this one ends, however it ends (guarded-process.ts). If it ends without
 * `stop`, the folder stays, and the next start removes it.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ownProcess from 'node:process';
import { type Clock, PercolatorError } from '../../../base/index.ts';
import { type GuardedProcess, startGuarded, stopGuarded } from '../../guarded-process.ts';
import type { Java } from './find-java.ts';

export interface JavaProgram {
  readonly name: string;
  readonly heapMb: number;
  /** The class, and its arguments. */
  readonly main: readonly string[];
  /**
   * How long it may take to end its own children before it is killed, in seconds. Default 0 when
   * this process ends, and 5 in `end`.
   */
  readonly graceSeconds?: number | undefined;
  /** A command that becomes the program, and says where it runs, such as `nsenter --net=...`. */
  readonly enter?: readonly string[] | undefined;
}

export interface LocalProcess {
  /**
   * `zookeeper`, `name-node`, `data-node-1`, `master`, `region-server-1`, ... or `hbase` for all.
   */
  readonly name: string;
  readonly pid: number;
  readonly heapMb: number;
}

export interface JavaProcessesOptions {
  /** The name of the cluster, for messages and the folder: `HBase`. */
  readonly cluster: string;
  readonly java: Java;
  readonly clock: Clock;
  /** Of Java's command line, such as `-Dname=value`. */
  readonly settings?: readonly string[] | undefined;
}

interface Running {
  readonly program: JavaProgram;
  readonly process: GuardedProcess;
  readonly hasEnded: boolean;
}

const START_MS_MAX = 600_000;
/** HBase's own list, for Java's newer versions. */
const OPENED = [
  'java.lang',
  'java.lang.reflect',
  'java.nio',
  'java.util',
  'java.util.concurrent',
  'jdk.internal.ref',
  'sun.nio.ch',
].map((name) => `java.base/${name}`);
const EXPORTED = ['java.base/jdk.internal.misc', 'java.security.jgss/sun.security.krb5'];
const JVM = [
  '-XX:+UseSerialGC',
  '-Djava.net.preferIPv4Stack=true',
  '-Dzookeeper.admin.enableServer=false',
  ...OPENED.flatMap((name) => ['--add-opens', `${name}=ALL-UNNAMED`]),
  ...EXPORTED.flatMap((name) => ['--add-exports', `${name}=ALL-UNNAMED`]),
];

export class JavaProcesses implements AsyncDisposable {
  readonly folder: string;
  readonly logs: string;
  readonly #options: JavaProcessesOptions;
  readonly #running = new Map<string, Running>();
  /** Whether an error has told the user of a log. */
  #isLogNamed = false;
  #stopped: Promise<void> | undefined;

  private constructor(options: JavaProcessesOptions, folder: string) {
    this.#options = options;
    this.folder = folder;
    this.logs = join(folder, 'logs');
  }

  /** Makes the folder, and starts nothing. */
  static async prepare(options: JavaProcessesOptions): Promise<JavaProcesses> {
    const processes = new JavaProcesses(options, await makeFolder(options.cluster));
    await mkdir(processes.logs);
    await mkdir(processes.#temporary);
    return processes;
  }

  /** The processes that run now. */
  list(): readonly LocalProcess[] {
    return [...this.#running.values()].flatMap(({ program, process: { pid }, hasEnded }) => {
      const { name, heapMb } = program;
      return pid === undefined || hasEnded ? [] : [{ name, pid, heapMb }];
    });
  }

  /** Starts a program; does nothing if it runs already. */
  start(program: JavaProgram): void {
    if (this.#running.get(program.name)?.hasEnded === false) return;
    const process = this.#launch(program);
    const running = { program, process, hasEnded: false };
    void process.then(() => {
      running.hasEnded = true;
    });
    this.#running.set(program.name, running);
  }

  /**
   * Runs a program to its end.
   * @throws STORE_UNAVAILABLE if it fails
   */
  async run(program: JavaProgram): Promise<void> {
    const { exitCode } = await this.#launch(program);
    if (exitCode !== 0) throw await this.#notStarted(`${program.name} failed`, program.name);
  }

  /** Kills one process, as `kill -9` does; resolves when it is gone. */
  async kill(name: string): Promise<void> {
    const running = this.#running.get(name);
    if (running === undefined) return;
    this.#running.delete(name);
    await stopGuarded(running.process);
  }

  /** Lets a process end in good order, and kills it after its grace; resolves when it is gone. */
  async end(name: string): Promise<void> {
    const running = this.#running.get(name);
    running?.process.kill('SIGTERM');
    await running?.process;
    await this.kill(name);
  }

  signal(name: string, signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#running.get(name)?.process.kill(signal);
  }

  /**
   * Waits until `isReached`, for up to ten minutes, which a busy machine may need.
   * @param what is waited for, for the message: `the master answers`
   * @param name of the process whose log may say why it is not reached
   * @throws STORE_UNAVAILABLE if it is not reached in time, or a process has ended
   */
  async until(what: string, name: string, isReached: () => Promise<boolean>): Promise<void> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + START_MS_MAX;
    while (!(await isReached())) {
      const ended = [...this.#running.values()].find(({ hasEnded }) => hasEnded)?.program.name;
      if (ended !== undefined) {
        throw await this.#notStarted(`its process ${ended} has ended`, ended);
      }
      if (clock.monotonicMs() > endMs) {
        throw await this.#notStarted(
          `after ${START_MS_MAX / 1000} s still waiting until ${what}`,
          name,
        );
      }
      await clock.sleep(100);
    }
  }

  /**
   * Stops everything and deletes the data. Stopping twice is harmless. If an error has named a log,
   * the folder stays until this process has ended and another cluster starts.
   */
  async stop(): Promise<void> {
    this.#stopped ??= this.#stopAll();
    await this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** The data is deleted as well, so no process need shut down cleanly. */
  async #stopAll(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.kill(name)));
    if (!this.#isLogNamed) await rm(this.folder, { recursive: true, force: true });
  }

  #launch({ name, heapMb, main, graceSeconds, enter = [] }: JavaProgram): GuardedProcess {
    const { java, settings: own = [] } = this.#options;
    const classpath = `${confOf(this.folder)}:${java.classpath}`;
    const temporary = `-Djava.io.tmpdir=${this.#temporary}`; // A process that is killed leaves some.
    const settings = [`-Xmx${heapMb}m`, temporary, ...own, ...JVM, '-cp', classpath];
    const command = [...enter, java.program, ...settings, ...main];
    return startGuarded(command, { log: this.#logOf(name), graceSeconds });
  }

  get #temporary(): string {
    return join(this.folder, 'temporary');
  }

  #logOf(name: string): string {
    return join(this.logs, `${name}.log`);
  }

  async #notStarted(reason: string, name: string): Promise<PercolatorError> {
    const log = this.#logOf(name);
    const text = await readFile(log, 'utf8').catch(() => '');
    const complaint = text.split('\n').findLast((line) => /Exception|Error|ERROR|FATAL/.test(line));
    const said = complaint === undefined ? '' : `: ${complaint.trim().slice(0, 300)}`;
    this.#isLogNamed = true;
    const message = `${this.#options.cluster} did not start, ${reason}${said} (${log})`;
    return new PercolatorError('STORE_UNAVAILABLE', message);
  }
}

/** The folder of the configuration files, first on the class path of every program. */
export function confOf(folder: string): string {
  return join(folder, 'configuration');
}

/**
 * A folder of our own, after removing those of processes that are gone. Each user has a parent of
 * its own, because no user may write to a folder that another user made.
 */
async function makeFolder(cluster: string): Promise<string> {
  const user = ownProcess.geteuid?.() ?? 'user'; // Windows has no such numbers.
  const parent = join(tmpdir(), `percolator-${cluster.toLowerCase()}-${user}`);
  await mkdir(parent, { recursive: true });
  for (const name of await readdir(parent)) {
    const folder = join(parent, name);
    const owner = await readFile(join(folder, 'owner'), 'utf8').catch(() => '');
    const [pid = ''] = owner.split(' ', 1);
    if (owner === '' || owner === (await describeProcess(pid))) continue;
    await rm(folder, { recursive: true, force: true });
  }
  const folder = await mkdtemp(join(parent, 'run-'));
  await writeFile(join(folder, 'owner'), await describeProcess(String(ownProcess.pid)));
  return folder;
}

/** The process id with the time of its start, since process ids are reused. */
async function describeProcess(number: string): Promise<string> {
  const start = existsSync('/proc/self/stat') ? ticksAtStart(number) : timeOfStart(number);
  return `${number} ${await start}`;
}

/** In clock ticks since boot: field 22, counted after the name, which may contain spaces. */
async function ticksAtStart(number: string): Promise<string> {
  const stat = await readFile(`/proc/${number}/stat`, 'latin1').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

/** Where there is no /proc; the same text, whatever the time zone and locale of this process. */
async function timeOfStart(number: string): Promise<string> {
  const { execa } = await import('execa');
  const { stdout } = await execa('ps', ['-o', 'lstart=', '-p', number], {
    reject: false,
    env: { TZ: 'UTC', LC_ALL: 'C' },
  });
  return stdout.trim();
}
