/**
 * A program of an experiment as a process: started here, in a namespace of this machine, or by the
 * agent of another host. The process that started it hears its messages and the lines of its
 * standard error, and what it is told goes the other way; `serve.ts` is the program's half.
 */
import { createRequire } from 'node:module';
import process from 'node:process';
import type * as Execa from 'execa';
import type { Host } from '../hosts/network.ts';

export interface ProgramStart {
  readonly program: URL;
  /** Sent as JSON, at the start. */
  readonly options: unknown;
  readonly onMessage: (message: unknown) => void;
  /** Called with each line that it writes to its standard error. */
  readonly onLine: (line: string) => void;
}

export interface StartedProgram {
  /** 0 if it could not be started; on another host, until it is ready. */
  readonly pid: number;
  /** Resolves when it has ended and all that it had said was heard; never rejects. */
  readonly ended: Promise<ProgramEnd>;
  /** Harmless if it has ended. */
  send(message: unknown): void;
  signal(signal: ProgramSignal): void;
  /** Stops it for a while, even if this program is killed meanwhile. */
  stopFor(forMs: number): Promise<void>;
}

/** SIGSTOP is for a moment: if this program dies meanwhile, the process stays so (`stopFor`). */
export type ProgramSignal = 'SIGKILL' | 'SIGSTOP' | 'SIGCONT';

export interface ProgramEnd {
  /** The process finished, and left with exit code 0. */
  readonly isOrderly: boolean;
  /** The signal that ended the process; undefined if it ended on its own. */
  readonly signal: string | undefined;
  /** The end of a sentence that begins with its name. */
  readonly how: string;
}

/** Another machine, with an agent that starts programs there (hosts/agent.ts). */
export interface RemoteHost {
  readonly name: string;
  /** Where the other hosts reach its processes. */
  readonly address: string;
  start(name: string, start: ProgramStart): StartedProgram;
}

/** A namespace of this machine, or another machine. */
export type AnyHost = Host | RemoteHost;

/** Where the process of a name runs; undefined for here. A name always has the same place. */
export type PlaceOf = (name: string) => AnyHost | undefined;

/** Gives the names the hosts by turns, in the order in which they are asked for. */
export function byTurns(hosts: readonly AnyHost[]): PlaceOf {
  const places = new Map<string, AnyHost>();
  return (name) => {
    const place = places.get(name) ?? hosts[places.size % Math.max(1, hosts.length)];
    if (place !== undefined) places.set(name, place);
    return place;
  };
}

/** Starts a program on this machine: where this process is, or in a namespace. */
export function startHere(start: ProgramStart, host?: Host): StartedProgram {
  const child = spawned(start, host);
  const heard = Promise.allSettled([listen(child, start), readLines(child, start)]);
  return {
    get pid() {
      return child.pid ?? 0; // Without an id it could not be started, and `ended` says so.
    },
    ended: endOf(child, heard),
    send: (message) => {
      const sent = async (): Promise<void> => child.sendMessage(message as Execa.Message);
      sent().catch(() => {});
    },
    signal: (signal) => void child.kill(signal),
    stopFor: (forMs) => stopFor(child.pid ?? 0, forMs),
  };
}

const require = createRequire(import.meta.url);

/** Loaded by the first start: the processes themselves, which load this file too, start none. */
function execa(): typeof Execa {
  return require('execa') as typeof Execa;
}

/** On a host, the command that enters it becomes the program: the process keeps its id. */
function spawned({ program, options }: ProgramStart, host: Host | undefined) {
  const [nodePath, ...words] = host?.enter ?? [];
  // Without a host execa's own choice: it leaves out what would run the parent's text again.
  const entering =
    nodePath === undefined ? {} : { nodePath, nodeOptions: [...words, process.execPath] };
  return execa().execaNode(program, [JSON.stringify(options)], {
    ipc: true,
    ...entering,
    buffer: false, // What it says is heard as it comes.
    stdio: ['ignore', 'inherit', 'pipe'],
  });
}

type Child = ReturnType<typeof spawned>;

async function listen(child: Child, { onMessage }: ProgramStart): Promise<void> {
  for await (const message of child.getEachMessage()) onMessage(message);
}

async function readLines(child: Child, { onLine }: ProgramStart): Promise<void> {
  for await (const line of child.iterable({ from: 'stderr' })) onLine(line);
}

async function endOf(child: Child, heard: Promise<unknown>): Promise<ProgramEnd> {
  const error = await child.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  await heard;
  if (error === undefined) {
    return { isOrderly: true, signal: undefined, how: 'ended as if it were done' };
  }
  if (!(error instanceof execa().ExecaError)) throw error; // Execa throws nothing else.
  return { isOrderly: false, signal: error.signal, how: wayOf(error) };
}

function wayOf(error: Execa.ExecaError): string {
  if (error.signal !== undefined) return `was ended by ${error.signal}`;
  if (error.exitCode !== undefined) return `ended with exit code ${error.exitCode}`;
  return `could not be started: ${error.originalMessage ?? error.shortMessage}`;
}

/**
 * Stops a process for a while, from a separate shell that outlives this program. If this program is
 * killed meanwhile, the process must continue, to find its parent gone; otherwise it would stay
 * stopped forever.
 */
async function stopFor(pid: number, forMs: number): Promise<void> {
  const script = 'kill -STOP "$1"; sleep "$2"; kill -CONT "$1"';
  const seconds = String(forMs / 1_000);
  await execa().execa('sh', ['-c', script, 'stop', String(pid), seconds], {
    stdio: 'ignore',
    detached: true,
    cleanup: false,
    reject: false, // The process may have been killed meanwhile.
  });
}
