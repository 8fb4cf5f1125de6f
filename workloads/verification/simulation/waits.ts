/**
 * The places where work outside of transactions waits: collector, leases, heartbeats and other
 * processes' locks, scanners and workers, definitions of tables, oracles. In some runs a process
 * stops in the middle of such a wait, which the faults of messages would hardly hit: a collector
 * asks for its horizon once for thousands of messages.
 *
 * A place is a function of the engine that awaits something. The call stack says where a message
 * comes from; reading it costs, so only some messages and sleeps are looked at.
 */
import { globSync, readFileSync } from 'node:fs';
import { chance } from './chance.ts';
import type { SimulatedProcess } from './process.ts';

const ENGINE = new URL('../../../engine/', import.meta.url);
const FOLDERS = '{garbage-collection,leases,observer,tables,oracle}';
const LOCKS = ['transaction/locks.ts', 'transaction/resolve-lock.ts'];
/** These are for other processes than those that are simulated. */
const ELSEWHERE = new Set(['oracle/client.ts', 'oracle/server.ts', 'oracle/service.ts']);
/** Frames that are read: a place may be deep below the message. */
const FRAMES_MAX = 40;
/** For draws of chance: whether a message or a sleep is looked at, and which places stop. */
const LOOK = 40;
const STOP = 41;
const SLEEPS = 3_000_000;
const LOOK_SHARE = 0.05;
/**
 * The share of the places at which a run stops a process. Functions are drawn by their names, so
 * that a file can move without a change of what a seed means.
 */
const STOP_SHARE = 0.1;

/** `garbage-collection/cycle.ts begin`: every place, in order. */
export function allWaits(): readonly string[] {
  return [...knownWaits()];
}

export class Waits {
  /** How often a process was stopped at each place. */
  readonly stopped: Record<string, number> = {};
  readonly #seed: number;
  readonly #isOn: boolean;
  #sleeps = 0;

  /** @param isOn whether processes stop in this run */
  constructor(seed: number, isOn: boolean) {
    this.#seed = seed;
    this.#isOn = isOn;
  }

  /** Whether the process that sends this message stops now: called where the message is sent. */
  stopsAtMessage({ id }: SimulatedProcess, number: number): boolean {
    return this.#isOn && this.#stopsAt(id, number);
  }

  /** The same for a sleep that begins now. */
  stopsAtSleep({ id }: SimulatedProcess): boolean {
    return this.#isOn && this.#stopsAt(id + SLEEPS, this.#sleeps++);
  }

  #stopsAt(id: number, number: number): boolean {
    if (chance(this.#seed, id, number, LOOK) >= LOOK_SHARE) return false;
    const waiting = waitsNow();
    const isChosen = (place: string): boolean =>
      this.stopped[place] === undefined &&
      chance(this.#seed, hashOf(place.replace(/^.* /, '')), 0, STOP) < STOP_SHARE;
    if (!waiting.some(isChosen)) return false;
    for (const place of waiting) this.stopped[place] = (this.stopped[place] ?? 0) + 1;
    return true;
  }
}

/** The places that wait for the message or the sleep that begins now. */
function waitsNow(): readonly string[] {
  const found = new Set<string>();
  for (const frame of callSites()) {
    const url = frame.getFileName();
    if (url?.startsWith(ENGINE.href) !== true) continue;
    const [file = ''] = url.slice(ENGINE.href.length).split('?'); // A mutant has a suffix.
    const place = `${file} ${nameOf(frame.getFunctionName())}`;
    if (knownWaits().has(place)) found.add(place);
  }
  return [...found];
}

function callSites(): readonly NodeJS.CallSite[] {
  const { stackTraceLimit } = Error;
  const before = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  try {
    Error.stackTraceLimit = FRAMES_MAX;
    Error.prepareStackTrace = (_, sites) => sites;
    const holder: { stack?: readonly NodeJS.CallSite[] } = {};
    Error.captureStackTrace(holder, waitsNow);
    return holder.stack ?? [];
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    if (before !== undefined) Object.defineProperty(Error, 'prepareStackTrace', before);
    else Reflect.deleteProperty(Error, 'prepareStackTrace');
  }
}

/** `Cycle.#begin`, `async Cycle.begin` and `begin` have one name. */
function nameOf(name: string | null): string {
  return (name ?? '').replace(/^.*[.\s]/, '').replace(/^#/, '');
}

let known: ReadonlySet<string> | undefined;

function knownWaits(): ReadonlySet<string> {
  known ??= new Set(
    [...globSync(`${FOLDERS}/*.ts`, { cwd: ENGINE }), ...LOCKS]
      .filter((file) => !/\.(test|fixture)\.ts$/.test(file) && !ELSEWHERE.has(file))
      .toSorted()
      .flatMap(waitsIn),
  );
  return known;
}

/** The beginning of a function, or of an arrow function with a name; and that of a method. */
const FUNCTION = /^(?:export )?(?:async )?function\*? (\w+)|\bconst (\w+) = async /;
const METHOD = /^ {2}(?:static )?(?:async )?\*?#?(\w+)(?:<.*>)?\(/;

/** The functions of a file that await something. */
function waitsIn(file: string): readonly string[] {
  const found = new Set<string>();
  let name = '';
  let isInClass = false;
  for (const line of readFileSync(new URL(file, ENGINE), 'utf8').split('\n')) {
    if (/^(?:export )?class /.test(line)) isInClass = true;
    else if (line === '}') isInClass = false;
    const begins = FUNCTION.exec(line) ?? (isInClass ? METHOD.exec(line) : undefined);
    name = begins?.[1] ?? begins?.[2] ?? name;
    if (/^(?! *(?:\*|\/\/)).*\bawait\b/.test(line)) {
      found.add(`${file.replaceAll('\\', '/')} ${name}`);
    }
  }
  return [...found];
}

function hashOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash;
}
