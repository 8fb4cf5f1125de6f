/**
 * The processes of a round: started, killed, stopped for a while, and started again.
 *
 * A process that is killed here comes back as the next life of its slot. One that ends by itself was
 * not meant to: that is a violation, whatever it says, and it comes back all the same.
 */
import { ExecaError, execaNode } from 'execa';
import { systemClock } from '#engine';
import type { Violation } from '#engine/testing';
import type { Fault } from './faults.ts';
import type { ProcessOptions } from './messages.ts';

interface Member {
  readonly name: string;
  readonly child: ReturnType<typeof startProcess>;
  /** Set once it has said that it is at work. */
  isReady: boolean;
  /** Set before it is killed: its end is no surprise. */
  isKilled: boolean;
  isPaused: boolean;
}

/** Everything a process is told but its name and its role. */
export type Common = Omit<ProcessOptions, 'name' | 'role'>;

export interface FaultCounts {
  readonly kills: number;
  readonly pauses: number;
  readonly restarts: number;
}

const PROGRAM = new URL('process.ts', import.meta.url);
const WATCHER = 'watcher';
/** Ends of processes by themselves after which a round is not worth going on. */
const DEATHS_MAX = 5;
/** How often to look for a process that can be hit, in milliseconds. */
const LOOK_MS = 5;

export class Fleet implements AsyncDisposable {
  readonly #common: Common;
  readonly #size: number;
  /** By slot; the watcher has none. Each holds the present life. */
  readonly #members = new Map<string, Member>();
  readonly #deaths: Violation[] = [];
  readonly #ends = new Set<Promise<void>>();
  #kills = 0;
  #pauses = 0;
  #restarts = 0;
  #isOver = false;

  constructor(common: Common, size: number) {
    this.#common = common;
    this.#size = size;
  }

  /** Processes that ended by themselves. */
  get deaths(): readonly Violation[] {
    return this.#deaths;
  }

  get counts(): FaultCounts {
    return { kills: this.#kills, pauses: this.#pauses, restarts: this.#restarts };
  }

  get isHopeless(): boolean {
    return this.#deaths.length >= DEATHS_MAX;
  }

  start(): void {
    this.#start(WATCHER, 1);
    for (let slot = 1; slot <= this.#size; slot++) this.#start(String(slot), 1);
  }

  /** Kills or stops one of those at work, as soon as there is one. */
  async hit(fault: Fault, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.isHopeless) {
      const candidates = [...this.#members.entries()].filter(
        ([slot, { isReady, isPaused }]) =>
          slot !== WATCHER &&
          (fault.kind === 'kill' ? isReady || fault.starting : isReady && !isPaused),
      );
      const hit = candidates[Math.floor(fault.victim * candidates.length)];
      if (hit === undefined) {
        await systemClock.sleep(LOOK_MS, signal);
        continue;
      }
      if (fault.kind === 'kill') this.#kill(hit[1]);
      else this.#pause(hit[1], fault.forMs);
      return;
    }
  }

  /** Kills all at once; resolves when they are gone. What they were doing stays as it is. */
  async end(): Promise<void> {
    this.#isOver = true;
    for (const member of this.#members.values()) this.#kill(member);
    await Promise.all(this.#ends);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  #start(slot: string, life: number): void {
    const name = `${slot}.${life}`;
    const role = slot === WATCHER ? 'watcher' : 'client';
    const child = startProcess({ ...this.#common, name, role });
    const member: Member = { name, child, isReady: false, isKilled: false, isPaused: false };
    this.#members.set(slot, member);
    child.getOneMessage().then(
      () => {
        member.isReady = true;
      },
      () => {}, // It has ended first; its end is handled below.
    );
    const end = this.#awaitEnd(member).then(() => {
      this.#ends.delete(end);
      if (this.#isOver || this.isHopeless) return;
      this.#restarts++;
      this.#start(slot, life + 1);
    });
    this.#ends.add(end);
  }

  async #awaitEnd(member: Member): Promise<void> {
    const result = await member.child.catch((error: unknown) => error);
    if (member.isKilled) return;
    const how = result instanceof ExecaError ? lastLine(result) : 'it ended as if it were done';
    this.#deaths.push({
      claim: 'processes: none ends by itself',
      message: `${member.name}: ${how}`,
    });
  }

  #kill(member: Member): void {
    if (member.isKilled) return;
    member.isKilled = true;
    this.#kills++;
    member.child.kill('SIGKILL');
  }

  #pause(member: Member, forMs: number): void {
    this.#pauses++;
    member.isPaused = true;
    member.child.kill('SIGSTOP');
    void systemClock.sleep(forMs).then(() => {
      member.isPaused = false;
      if (!member.isKilled) member.child.kill('SIGCONT');
    });
  }
}

function startProcess(options: ProcessOptions) {
  return execaNode(PROGRAM, [JSON.stringify(options)], {
    ipc: true,
    stdio: ['ignore', 'inherit', 'pipe'],
  });
}

/** What the process said of its end, or how it ended. */
function lastLine(error: ExecaError): string {
  const lines = String(error.stderr).trimEnd().split('\n');
  return lines.findLast((line) => /\w*Error\b/.test(line)) ?? error.shortMessage;
}
