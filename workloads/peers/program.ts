/**
 * A program that runs the crawl on one system, ours or a peer's: a process with one request and one
 * answer at a time, each a line. Every answer is a JSON object, and lines that are none are what a
 * system logs:
 *
 *     load                                     the repository, as an earlier crawl would leave it
 *     crawl <documents> <callers> <seconds>    new documents in a closed loop, until either is over
 *     arrive <documents> <per second>          new documents, each at its time (open loop)
 *     partition <file>                         writes what the system has, in the order of commits
 *     cells <number>                           cells for the next two
 *     read <callers> <seconds>                 transactions that read one cell
 *     write <callers> <seconds>                transactions that write one cell
 *
 * A program ends when its input does. Processor time is counted here, for all systems in the same
 * way: of the process and its descendants, and of the servers that it uses.
 */
import { execa } from 'execa';
import { cpuSecondsOf, familyCpuUs } from '../harness/processes/processor-time.ts';

export interface Command {
  /** The program and its arguments. */
  readonly words: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The processes of its storage, which run already. */
  readonly serverPids: readonly number[];
}

export interface Answer {
  readonly done: number;
  readonly seconds: number;
  /** Of `arrive`, for each document from when it was due. */
  readonly latenciesUs?: readonly number[];
}

export interface Timed extends Answer {
  /** Null if the system does not report it. */
  readonly cpuSeconds: number | null;
}

/** A program that is silent for longer has hung. */
const ANSWER_MS_MAX = 600_000;
const LINES_KEPT = 12;

export class PeerProgram implements AsyncDisposable {
  readonly #child: Child;
  readonly #pids: readonly number[];
  readonly #answers: AsyncIterator<string>;
  /** The last lines that it has written to its standard error. */
  readonly #said: string[] = [];

  constructor(command: Command) {
    this.#child = started(command);
    this.#child.stdin.on('error', () => {}); // It has ended: the next answer says so.
    this.#pids = [this.#child.pid ?? 0, ...command.serverPids];
    this.#answers = answersOf(this.#child);
    void this.#listen();
  }

  /**
   * Resolves with the answer and what it took.
   * @throws an error with the last lines of the program if it ends instead, and if `signal` aborts
   */
  async ask(request: string, signal: AbortSignal): Promise<Timed> {
    signal.throwIfAborted();
    const late = AbortSignal.timeout(ANSWER_MS_MAX);
    const over = AbortSignal.any([signal, late]);
    const end = (): void => this.#kill();
    over.addEventListener('abort', end, { once: true });
    try {
      const before = cpuSecondsOf(this.#pids);
      this.#child.stdin.write(`${request}\n`);
      const { value, done } = await this.#answers.next();
      signal.throwIfAborted();
      if (done === true) throw new Error(await this.#whyItEnded(request, late.aborted));
      const after = cpuSecondsOf(this.#pids);
      const cpuSeconds = before === null || after === null ? null : after - before;
      return { ...(JSON.parse(value) as Answer), cpuSeconds };
    } finally {
      over.removeEventListener('abort', end);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill(); // What it holds is temporary.
    await this.#child;
  }

  /** Kills the program, and the servers that it has started. */
  #kill(): void {
    const { pid } = this.#child;
    for (const one of pid === undefined ? [] : familyCpuUs(pid).keys()) {
      if (one !== pid) killIfThere(one);
    }
    this.#child.kill('SIGKILL');
  }

  async #listen(): Promise<void> {
    for await (const line of this.#child.iterable({ from: 'stderr' })) {
      this.#said.push(line);
      if (this.#said.length > LINES_KEPT) this.#said.shift();
    }
  }

  async #whyItEnded(request: string, isLate: boolean): Promise<string> {
    const { exitCode, signal, shortMessage } = await this.#child;
    const how = isLate
      ? `has not answered in ${ANSWER_MS_MAX / 1_000} s`
      : `ended ${exitCode === undefined ? `by ${signal ?? shortMessage}` : `with exit code ${exitCode}`}`;
    return [`asked to ${request}, it ${how}`, ...this.#said].join('\n');
  }
}

function started({ words: [program = '', ...words], environment = {} }: Command) {
  return execa(program, words, { buffer: false, reject: false, stdin: 'pipe', env: environment });
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

type Child = ReturnType<typeof started>;

async function* answersOf(child: Child): AsyncGenerator<string, undefined> {
  for await (const line of child.iterable()) if (line.startsWith('{')) yield line;
  return undefined;
}
