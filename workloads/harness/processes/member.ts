/**
 * One process of an experiment, as its parent sees it: started with execa, ready when it says so, and
 * remembered by what it said last.
 *
 *     start ─▶ options as JSON on its command line ─▶ "ready" over IPC ─▶ messages, either way ─▶ its end
 *
 * The other half is serve.ts. Whether an end was meant to be, who starts it knows (crew.ts, chaos/fleet.ts).
 */
import { ExecaError, execaNode, type Message as ExecaMessage } from 'execa';
import { systemClock } from '#engine';

/** What every process says first, in its own words. */
export interface ReadyMessage {
  readonly kind: 'ready';
  readonly value: unknown;
}

/** What it says last, when it leaves because it was asked to. */
export interface LeavingMessage {
  readonly kind: 'leaving';
  /** From its start: what its work has cost, and its loading. */
  readonly cpuSeconds: number;
}

/** What its parent says last. */
export interface StopMessage {
  readonly kind: 'stop';
}

/** How a process ended. */
export interface End {
  /** It was done, and left with exit code 0. */
  readonly isOrderly: boolean;
  /** A sentence for people: how it ended, and its last lines on stderr. */
  readonly description: string;
  /** The last lines alone. */
  readonly lastLines: readonly string[];
  /** That it has used; 0 if it did not come to say. */
  readonly cpuSeconds: number;
}

export interface MemberOptions {
  /** For people: `worker 2`. */
  readonly name: string;
  readonly program: URL;
  /** What it is told at its start. */
  readonly options: unknown;
  /** Told of every message after the first. */
  readonly onMessage?: ((message: unknown) => void) | undefined;
}

/** Lines of stderr that are remembered: a stack trace, and what was said before it. */
const LINES_MAX = 24;

export class Member {
  readonly name: string;
  /** Resolves with what it said when it was ready; rejects if it ends before. */
  readonly ready: Promise<unknown>;
  /** Resolves when it is gone; never rejects. */
  readonly ended: Promise<End>;
  readonly #child: ReturnType<typeof startProgram>;
  readonly #lines: string[] = [];
  #cpuSeconds = 0;

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
    this.ready.catch(() => {}); // Whoever awaits it hears of it.
  }

  get pid(): number {
    return this.#child.pid ?? 0; // Without one it could not be started, which `ended` says.
  }

  /** Harmless if it has ended: who waits for an answer waits for the end as well. */
  send(message: unknown): void {
    const sent = async (): Promise<void> => this.#child.sendMessage(message as ExecaMessage);
    sent().catch(() => {});
  }

  /** Asks it to stop; resolves with its end, which is by force if it takes longer than `forMs`. */
  async stop(forMs: number): Promise<End> {
    this.send({ kind: 'stop' } satisfies StopMessage);
    const over = new AbortController();
    const late = systemClock.sleep(forMs, over.signal).then(() => {
      if (!over.signal.aborted) this.signal('SIGKILL');
    });
    const end = await this.ended;
    over.abort();
    await late;
    return end;
  }

  signal(signal: 'SIGKILL'): void {
    this.#child.kill(signal);
  }

  async #listen(onMessage: (message: unknown) => void): Promise<void> {
    for await (const message of this.#child.getEachMessage()) {
      try {
        onMessage(message);
      } catch (error) {
        this.#lines.push(`${error instanceof Error ? error.stack : String(error)}`);
        this.signal('SIGKILL'); // Nobody listens to it any more.
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

  /** Last comes what it has said: all of it, or as far as it came. */
  async #end(said: readonly Promise<void>[]): Promise<End> {
    const error = await this.#child.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    await Promise.allSettled(said);
    const lastLines = [...this.#lines];
    const how = `${this.name} (process ${this.pid}) ${wayOf(error)}`;
    const lines = lastLines.map((line) => `\n    ${line}`).join('');
    const description = lines === '' ? `${how}, and said nothing` : `${how}; it said last:${lines}`;
    return { isOrderly: error === undefined, description, lastLines, cpuSeconds: this.#cpuSeconds };
  }
}

function isReady(message: unknown): message is ReadyMessage {
  return (message as { readonly kind?: unknown } | null)?.kind === 'ready';
}

function isLeaving(message: unknown): message is LeavingMessage {
  return (message as { readonly kind?: unknown } | null)?.kind === 'leaving';
}

function startProgram(program: URL, options: unknown) {
  return execaNode(program, [JSON.stringify(options)], {
    ipc: true,
    // Only the last lines are kept, and messages by whoever wants them.
    buffer: false,
    stdio: ['ignore', 'inherit', 'pipe'],
  });
}

function wayOf(error: unknown): string {
  if (error === undefined) return 'ended as if it were done';
  if (!(error instanceof ExecaError)) throw error; // Execa throws nothing else.
  if (error.signal !== undefined) return `was ended by ${error.signal}`;
  if (error.exitCode !== undefined) return `ended with exit code ${error.exitCode}`;
  return `could not be started: ${error.originalMessage ?? error.shortMessage}`;
}
