/**
 * What a coordinator and an agent say to one another, and whether what arrived is such a message:
 * the coordinator hears strangers, too, so nothing of a line is believed before it is looked at.
 */
import type { ProgramEnd, ProgramSignal } from '../processes/program.ts';

/** What an agent is, as it tells when it joins. */
export interface AgentDescription {
  /** Where other hosts reach it; undefined: where the coordinator sees it. */
  readonly address?: string | undefined;
  readonly hostName: string;
  readonly cores: number;
  readonly memoryBytes: number;
  /** Of the code (code-version.ts). */
  readonly version: string;
}

export type FromAgent =
  | ({ readonly kind: 'join'; readonly secret: string } & AgentDescription)
  | { readonly kind: 'started'; readonly id: number; readonly pid: number }
  | { readonly kind: 'message'; readonly id: number; readonly packed: string }
  | { readonly kind: 'line'; readonly id: number; readonly line: string }
  | { readonly kind: 'ended'; readonly id: number; readonly end: ProgramEnd }
  | Beat;

export type FromCoordinator =
  | { readonly kind: 'welcome'; readonly name: string; readonly identity: string }
  | { readonly kind: 'refused'; readonly sentence: string }
  /** `program` is a path in the repository. */
  | {
      readonly kind: 'start';
      readonly id: number;
      readonly program: string;
      readonly options: string;
    }
  | { readonly kind: 'message'; readonly id: number; readonly packed: string }
  | { readonly kind: 'signal'; readonly id: number; readonly signal: ProgramSignal }
  | { readonly kind: 'stop for'; readonly id: number; readonly forMs: number }
  /** The run is over. */
  | { readonly kind: 'over' }
  | Beat;

export interface Beat {
  readonly kind: 'beat';
}

/** Undefined if the line is no message of an agent. */
export function readFromAgent(line: string): FromAgent | undefined {
  return read(line, FROM_AGENT) as FromAgent | undefined;
}

/** Undefined if the line is no message of a coordinator. */
export function readFromCoordinator(line: string): FromCoordinator | undefined {
  return read(line, FROM_COORDINATOR) as FromCoordinator | undefined;
}

type Accepts = (value: unknown) => boolean;

/** The fields of each kind of message. */
type Fields<Message extends { readonly kind: string }> = {
  readonly [K in Message['kind']]: {
    readonly [F in Exclude<keyof Extract<Message, { readonly kind: K }>, 'kind'>]-?: Accepts;
  };
};

const isText: Accepts = (value) => typeof value === 'string';
const isTextOrAbsent: Accepts = (value) => value === undefined || isText(value);
/** JSON reads 1e999 as infinite. */
const isNumber: Accepts = (value) => Number.isFinite(value);
const isSignal: Accepts = (value) => ['SIGKILL', 'SIGSTOP', 'SIGCONT'].includes(String(value));
const isEnd: Accepts = (value) =>
  isObject(value) &&
  typeof value['isOrderly'] === 'boolean' &&
  isTextOrAbsent(value['signal']) &&
  isText(value['how']);

const FROM_AGENT: Fields<FromAgent> = {
  join: {
    secret: isText,
    address: isTextOrAbsent,
    hostName: isText,
    cores: isNumber,
    memoryBytes: isNumber,
    version: isText,
  },
  started: { id: isNumber, pid: isNumber },
  message: { id: isNumber, packed: isText },
  line: { id: isNumber, line: isText },
  ended: { id: isNumber, end: isEnd },
  beat: {},
};

const FROM_COORDINATOR: Fields<FromCoordinator> = {
  welcome: { name: isText, identity: isText },
  refused: { sentence: isText },
  start: { id: isNumber, program: isText, options: isText },
  message: { id: isNumber, packed: isText },
  signal: { id: isNumber, signal: isSignal },
  'stop for': { id: isNumber, forMs: isNumber },
  over: {},
  beat: {},
};

function read(
  line: string,
  kinds: Readonly<Record<string, Readonly<Record<string, Accepts>>>>,
): object | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { kind } = value;
  const fields = typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (fields === undefined) return undefined;
  const isWhole = Object.entries(fields).every(([name, accepts]) => accepts(value[name]));
  return isWhole ? value : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
