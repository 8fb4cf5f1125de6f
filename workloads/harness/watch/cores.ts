/** How many cores each process of a run has in use, by the names of their programs. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { familyCpuUs } from '../processes/processor-time.ts';
import type { Sample } from './timeline.ts';

/** More processes of one program share a line: those of a server that has one per connection. */
const LINES_MAX = 4;

interface Seen {
  readonly program: string;
  /** From 1: the lowest number that no other process of the program has. */
  readonly number: number;
  readonly us: number;
}

export class CoresInUse {
  readonly #pid: number;
  readonly #now: () => number;
  #seen: ReadonlyMap<number, Seen> = new Map();
  #lastMs: number;
  /** Programs with more than `LINES_MAX` processes at some time. */
  readonly #many = new Set<string>();

  /** @param pid of the script */
  constructor(pid: number, now: () => number = () => performance.now()) {
    this.#pid = pid;
    this.#now = now;
    this.#lastMs = now();
    this.read();
  }

  /** Since the last call. Empty where the system does not report it. */
  read(): readonly Sample[] {
    const nowMs = this.#now();
    const forUs = Math.max(1, (nowMs - this.#lastMs) * 1000);
    this.#lastMs = nowMs;
    const before = this.#seen;
    this.#seen = this.#look(before);
    const sums = new Map<string, number>();
    for (const [pid, { program, number, us }] of this.#seen) {
      const used = (us - (before.get(pid)?.us ?? us)) / forUs;
      const line = this.#lineOf(program, number);
      sums.set(line, (sums.get(line) ?? 0) + used);
    }
    return [...sums].map(([series, value]) => ({ panel: 'cores', series, value }));
  }

  #look(before: ReadonlyMap<number, Seen>): ReadonlyMap<number, Seen> {
    const seen = new Map<number, Seen>();
    const numbers = new Map<string, Set<number>>();
    const family = [...familyCpuUs(this.#pid)];
    for (const [pid, us] of family) {
      const known = before.get(pid);
      if (known === undefined) continue;
      seen.set(pid, { ...known, us });
      numbers.set(known.program, (numbers.get(known.program) ?? new Set()).add(known.number));
    }
    for (const [pid, us] of family) {
      if (seen.has(pid)) continue;
      const program = pid === this.#pid ? 'the script' : programOf(pid);
      if (program === undefined) continue;
      const taken = numbers.get(program) ?? new Set();
      let number = 1;
      while (taken.has(number)) number++;
      numbers.set(program, taken.add(number));
      if (taken.size > LINES_MAX) this.#many.add(program);
      seen.set(pid, { program, number, us });
    }
    return seen;
  }

  #lineOf(program: string, number: number): string {
    if (this.#many.has(program)) return `${program}, all`;
    return number === 1 ? program : `${program} ${number}`;
  }
}

/** Undefined if the process has ended. */
function programOf(pid: number): string | undefined {
  try {
    return programName(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0'));
  } catch {
    return undefined;
  }
}

/**
 * "worker" of a node program worker-process.ts, "HRegionServer" of a Java class, and otherwise the
 * name of the executable.
 */
export function programName([command = '', ...words]: readonly string[]): string {
  const name = path.basename(command.split(':')[0] ?? '');
  const script = words.find((word) => /\.[cm]?[jt]s$/.test(word) && !word.startsWith('-'));
  if (name.startsWith('node') && script !== undefined) {
    return path.basename(script).replace(/(?:-process)?\.\w+$/, '');
  }
  const javaClass = words.find((word) => /^(?:[a-z][\w]*\.)+[A-Z]\w*$/.test(word));
  return (name === 'java' && javaClass?.split('.').at(-1)) || name || 'unnamed';
}
