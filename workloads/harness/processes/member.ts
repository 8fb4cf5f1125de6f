/**
 * One process of an experiment, as its parent sees it: started with execa, ready when it says so,
 * and reported with its last lines.
 *
 *     start ─▶ options as JSON in argv ─▶ "ready" over IPC ─▶ messages, either way ─▶ its end
 *
 * The other half is serve.ts. Whether an end was expected is for the starter to judge (crew.ts,
 * chaos/fleet.ts).
 */
import { createRequire } from 'node:module';
import type * as Execa from 'execa';
import { systemClock } from '#engine';

/** The first message of every process; its value is the program's own. */
export interface ReadyMessage {
  readonly kind: 'ready';
  readonly value: unknown;
}

/** The last message of a process that was asked to stop. */
export interface LeavingMessage {
  readonly kind: 'leaving';
  /** CPU time since its start, including the loading of the program. */
  readonly cpuSeconds: number;
}

/** The last message of its parent. */
export interface StopMessage {
  readonly kind: 'stop';
}

/** How a process ended. */
export interface End {
  /** The process finished, and left with exit code 0. */
  readonly isOrderly: boolean;
  /** The signal that ended the process; undefined if it ended on its own. */
  readonly signal: string | undefined;
  /** A sentence for the user: how it ended, and its last lines on stderr. */
  readonly description: string;
  /** The last lines alone. */
  readonly lastLines: readonly string[];
  /** CPU time used; 0 if the process ended before it could report it. */
  readonly cpuSeconds: number;
}

export interface MemberOptions {
  /** Name in messages: `worker 2`. */
  readonly name: string;
  readonly program: URL;
  /** Options for the process, sent at its start. */
  readonly options: unknown;
  /** Called with every message after the first. */
  readonly onMessage?: ((message: unknown) => void) | undefined;
}

/** Lines of stderr that are kept: a stack trace, and the lines before it. */
const LINES_MAX = 24;

export class Member {
  readonly name: string;
  /** Resolves with the value of its ready message; rejects if it ends before. */
  readonly ready: Promise<unknown>;
  /** Resolves when the process has ended; never rejects. */
  readonly ended: Promise<End>;
  readonly #child: ReturnType<typeof startProgram>;
  readonly #lines: string[] = [];
  #cpuSeconds = 0;
  /** How long `stop` waited before it killed the process. */
  #waitedMs: number | undefined;

  constructor({ name, program, options, onMessage = () => {} }: MemberOptions) {
    this.name = name;
    this.#child = startProgram(program, options);
    const ready = Promise.withResolvers<unknown>();
    const listened = this.#listen((message) => {
      if (isReady(message)) ready.resolve(message.value);
      else if (isLeaving(message)) this.#cpuSeconds = message.cpuSeconds;
      else onMessage(message);
    });
    this.ended = this.#end([listened, this.#rememberLines()]);
    void this.ended.then(({ description }) => ready.reject(new Error(description)));
    this.ready = ready.promise;
    this.ready.catch(() => {}); // A caller that awaits it sees the error.
  }

  get pid(): number {
    return this.#child.pid ?? 0; // Without an id it could not be started, and `ended` says so.
  }

  /** Harmless if it has ended: a caller that waits for an answer also waits for the end. */
  send(message: unknown): void {
    const sent = async (): Promise<void> => this.#child.sendMessage(message as Execa.Message);
    sent().catch(() => {});
  }

  /** Asks it to stop, and kills it after `forMs`; its end says whether it had to be killed. */
  async stop(forMs: number): Promise<End> {
    this.send({ kind: 'stop' } satisfies StopMessage);
    const over = new AbortController();
    const late = systemClock.sleep(forMs, over.signal).then(() => {
      if (over.signal.aborted) return;
      this.#waitedMs = forMs;
      this.signal('SIGKILL');
    });
    const end = await this.ended;
    over.abort();
    await late;
    return end;
  }

  /** SIGSTOP is for a moment: if this program dies meanwhile, the process stays (stop-for.ts). */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }

  async #listen(onMessage: (message: unknown) => void): Promise<void> {
    for await (const message of this.#child.getEachMessage()) {
      try {
        onMessage(message);
      } catch (error) {
        this.#lines.push(`${error instanceof Error ? error.stack : String(error)}`);
        this.signal('SIGKILL'); // The parent no longer listens to it.
        return;
      }
    }
  }

  async #rememberLines(): Promise<void> {
    for await (const line of this.#child.iterable({ from: 'stderr' })) {
      if (line.trim() === '') continue;
      this.#lines.push(line);
      if (this.#lines.length > LINES_MAX) this.#lines.shift();
    }
  }

  /** Resolves when the process has ended and all that it had written has been read. */
  async #end(said: readonly Promise<void>[]): Promise<End> {
    const error = await this.#child.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    await Promise.allSettled(said);
    const lastLines = [...this.#lines];
    const how = `${this.name} (process ${this.pid}) ${wayOf(error, this.#waitedMs)}`;
    const lines = lastLines.map((line) => `\n    ${line}`).join('');
    const description = lines === '' ? `${how}, and said nothing` : `${how}; it said last:${lines}`;
    const isOrderly = error === undefined;
    const signal = error instanceof execa().ExecaError ? error.signal : undefined;
    return { isOrderly, signal, description, lastLines, cpuSeconds: this.#cpuSeconds };
  }
}

function isReady(message: unknown): message is ReadyMessage {
  return (message as { readonly kind?: unknown } | null)?.kind === 'ready';
}

function isLeaving(message: unknown): message is LeavingMessage {
  return (message as { readonly kind?: unknown } | null)?.kind === 'leaving';
}

const require = createRequire(import.meta.url);

/** Loaded by the first start: the processes themselves, which load this file too, start none. */
function execa(): typeof Execa {
  return require('execa') as typeof Execa;
}

function startProgram(program: URL, options: unknown) {
  return execa().execaNode(program, [JSON.stringify(options)], {
    ipc: true,
    // Only the last lines are kept; `onMessage` receives the messages.
    buffer: false,
    stdio: ['ignore', 'inherit', 'pipe'],
  });
}

function wayOf(error: unknown, waitedMs: number | undefined): string {
  if (error === undefined) return 'ended as if it were done';
  if (!(error instanceof execa().ExecaError)) throw error; // Execa throws nothing else.
  if (error.signal === 'SIGKILL' && waitedMs !== undefined) {
    return `did not stop within ${waitedMs / 1000} s and was killed`;
  }
  if (error.signal !== undefined) return `was ended by ${error.signal}`;
  if (error.exitCode !== undefined) return `ended with exit code ${error.exitCode}`;
  return `could not be started: ${error.originalMessage ?? error.shortMessage}`;
}
