/** All states of a story, as plain values: what the page shows. */
import { textOf } from '../../../../engine/base/index.ts';
import type { Cell } from '../../../../engine/bigtable/index.ts';
import {
  CELLS,
  columnOf,
  isOfEngine,
  isSharedLock,
  kindOf,
  readLock,
} from '../../../../engine/transaction/index.ts';
import type { ExplorerScenario } from '../scenario.ts';
import type { WrittenChoice } from './choice.ts';
import { type LineName, lineOf } from './figure.ts';
import { describeRequest, type ExplorerMessage, isMutation, placeOfRequest } from './message.ts';
import { type ExplorerEvent, ExplorerWorld } from './world.ts';

/** The world after so many choices. */
export interface Picture {
  /** By `table/row`, then by column. */
  readonly rows: readonly PictureRow[];
  readonly actors: readonly PictureActor[];
  readonly messages: readonly PictureMessage[];
  /** Mutations that have arrived: a copy of each may come. */
  readonly arrived: readonly PictureMessage[];
  /** What happened in the last choice. */
  readonly log: readonly string[];
  /** Whether the choice was possible. */
  readonly isTaken: boolean;
  /** How many choices were possible until then: the step of the last event. */
  readonly steps: number;
  readonly nowMs: number;
}

export interface PictureRow {
  readonly table: string;
  readonly row: string;
  readonly column: string;
  readonly cells: readonly PictureCell[];
}

export interface PictureCell {
  /**
   * data, lock, write, rollback, notify, weak; with `shared` or `acknowledgment` before it, of
   * shared locks or of an observer's runs.
   */
  readonly kind: string;
  readonly timestamp: number;
  readonly text: string;
}

export interface PictureActor {
  /** The same in all its lives, of which each has a name. */
  readonly role: string;
  readonly name: string;
  readonly state: 'idle' | 'at work' | 'paused' | 'dead';
  readonly isPresumedDead: boolean;
  readonly says: string;
  /** The task that it would begin. */
  readonly next: string;
}

export interface PictureMessage {
  readonly number: number;
  readonly process: number;
  readonly sender: string;
  readonly place: string;
  readonly line: LineName;
  readonly text: string;
  readonly isAwaited: boolean;
  readonly isMutation: boolean;
  readonly sentAt: number;
}

export interface PlayedStory {
  /** Before the first choice, and after each. */
  readonly pictures: readonly Picture[];
  readonly events: readonly ExplorerEvent[];
}

export async function tell(
  scenario: ExplorerScenario,
  choices: readonly WrittenChoice[],
): Promise<PlayedStory> {
  const world = await ExplorerWorld.open(scenario);
  const pictures = [await pictureOf(world, 0, true)];
  for (const choice of choices) {
    const { length } = world.log;
    const isTaken = await world.take(choice);
    pictures.push(await pictureOf(world, length, isTaken));
  }
  return { pictures, events: world.events };
}

async function pictureOf(world: ExplorerWorld, logged: number, isTaken: boolean): Promise<Picture> {
  const { scenario } = world;
  const inFlight = new Set(world.inFlight.map(({ message }) => message));
  const show = (message: ExplorerMessage, isAwaited: boolean): PictureMessage => {
    const isBefore = ({ sender, number }: ExplorerMessage): boolean =>
      sender === message.sender && number < message.number;
    return messagePicture(message, world.sent.filter(isBefore), isAwaited);
  };
  return {
    rows: [...(await world.cells())].flatMap(([place, cells]) => rowsOf(place, cells)),
    actors: world.actors.map((actor, i) => ({
      role: scenario.processes[i]?.name ?? '',
      name: actor.process.name,
      state: stateOf(actor),
      isPresumedDead: world.isDead(actor.process.name),
      says: actor.says,
      next: taskOf(scenario, i, actor.begun),
    })),
    messages: world.inFlight.map(({ message, isAwaited }) => show(message, isAwaited)),
    arrived: world.sent
      .filter((message) => isMutation(message.request) && !inFlight.has(message))
      .map((message) => show(message, false)),
    log: world.log.slice(logged),
    isTaken,
    steps: world.steps,
    nowMs: world.nowMs,
  };
}

/** @param before what its sender sent earlier, oldest first */
export function messagePicture(
  message: ExplorerMessage,
  before: readonly ExplorerMessage[],
  isAwaited: boolean,
): PictureMessage {
  const { number, process, sender, request, sentAt } = message;
  return {
    number,
    process,
    sender,
    place: placeOfRequest(request),
    line: lineOf(message, before),
    text: describeRequest(request),
    isAwaited,
    isMutation: isMutation(request),
    sentAt,
  };
}

function stateOf({ process, isAtWork }: ExplorerWorld['actors'][number]): PictureActor['state'] {
  if (!process.isAlive) return 'dead';
  if (process.isPaused) return 'paused';
  return isAtWork ? 'at work' : 'idle';
}

function taskOf({ processes }: ExplorerScenario, of: number, begun: number): string {
  const { tasks = [] } = processes[of] ?? {};
  return tasks[Math.min(begun, tasks.length - 1)]?.does ?? '';
}

/** @param place a row, as `table/row` */
export function rowsOf(place: string, cells: readonly Cell[]): readonly PictureRow[] {
  const slash = place.indexOf('/');
  const table = place.slice(0, slash).replace('.notify', '');
  const byColumn = Map.groupBy(cells, (cell) =>
    cell.family === CELLS ? columnOf(cell).replace(/^ack_[^:]*:/, '') : cell.qualifier,
  );
  return [...byColumn].map(([column, ofColumn]) => ({
    table,
    row: place.slice(slash + 1),
    column,
    cells: ofColumn.map(shown),
  }));
}

function shown(cell: Cell): PictureCell {
  const { timestamp, family } = cell;
  if (family !== CELLS) return { kind: family, timestamp, text: '' };
  const kind = kindOf(cell);
  const text = textOf(cell.value);
  const { primary } = kind === 'lock' ? (readLock(cell) ?? {}) : {};
  const lock = primary === undefined ? text : `of ${primary.row}.${primary.column}`;
  const record = text
    .replace(/^0+(?=\d)/, '')
    .replace(/^(\d+) put$/, isOfEngine(columnOf(cell)) ? 'of $1' : 'data @ $1')
    .replace(/^(\d+) (delete|touch)\b.*$/, '$2 @ $1');
  return {
    kind: `${ofEngine(columnOf(cell))}${kind}`,
    timestamp,
    text: kind === 'lock' ? lock : kind === 'write' ? record : text,
  };
}

/** What the column is for, if it is the engine's own. */
function ofEngine(column: string): string {
  if (isSharedLock(column)) return 'shared ';
  return isOfEngine(column) ? 'acknowledgment ' : '';
}
