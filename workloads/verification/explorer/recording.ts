/**
 * A run of the simulator, recorded as the pictures and events of a story, for a page on which one
 * steps through it (page/recorded-page.ts).
 *
 * It cannot be replayed in the explorer's world: there time stands still, the engine's own tables
 * are answered at once, and the oracle is a counter, while in the simulator all of these are part
 * of the race. So this is what happened, to be looked at; nothing in it can be chosen otherwise.
 *
 * Left out: what processes ask of the engine's own tables, except of the oracle's, which counts as
 * the oracle; and all but the end of a long run.
 */
import { PercolatorError } from '../../../engine/base/index.ts';
import type { Row } from '../../../engine/bigtable/index.ts';
import type { Violation } from '../judges/history.ts';
import { simulate, type SimulationPlan } from '../simulation/index.ts';
import type { NetworkEvent } from '../simulation/network-event.ts';
import type { World } from '../simulation/world.ts';
import { isOwnTable } from './world/door.ts';
import { FIGURE, type FigurePart } from './world/figure.ts';
import {
  describeAnswer,
  describeRequest,
  type ExplorerAnswer,
  type ExplorerMessage,
  type ExplorerRequest,
  isMutation,
} from './world/message.ts';
import {
  messagePicture,
  type Picture,
  type PictureActor,
  type PictureMessage,
  type PictureRow,
  type PlayedStory,
  rowsOf,
} from './world/picture.ts';
import type { ExplorerEvent } from './world/world.ts';

export interface RecordedSimulation {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly figure: readonly FigurePart[];
  readonly story: PlayedStory;
  /** Steps of the run that are not shown: those before, and those after. */
  readonly leftOut: { readonly before: number; readonly after: number };
}

/** Steps that are shown: so many while faults happen, and so many of the peace after them. */
const TROUBLED_MAX = 300;
const PEACEFUL_MAX = 100;

export async function recordSimulation(plan: SimulationPlan): Promise<RecordedSimulation> {
  const recorder = new RunRecorder();
  const { violations } = await simulate(plan, {
    record: (world, event) => recorder.record(world, event),
    tell: (timeMs, who, what) => recorder.tell(timeMs, who, what),
  });
  return { seed: plan.seed, violations, figure: FIGURE, ...recorder.ended() };
}

interface RecordedStep {
  readonly event: ExplorerEvent;
  readonly picture: Picture;
}

class RunRecorder {
  #steps: RecordedStep[] = [];
  /** Of all steps, also of those that are no longer kept. */
  #count = 0;
  #leftOut = { before: 0, after: 0 };
  #peaceful = 0;
  /** By request: a copy has the request of the first one. */
  readonly #sent = new Map<ExplorerRequest, { message: ExplorerMessage; shown: PictureMessage }>();
  readonly #inFlight = new Set<ExplorerRequest>();
  readonly #sentBy = new Map<string, ExplorerMessage[]>();
  readonly #actors: { name: string; state: PictureActor['state'] }[] = [];
  #log: string[] = [];
  #first: Picture | undefined;
  /** The same as long as nothing is applied. */
  #rows: readonly PictureRow[] | undefined;

  /** Faults of the whole run; what happens to messages is told by their events. */
  tell(timeMs: number, who: string, what: string): void {
    if (who === '(the run)') this.#log.push(`${Math.round(timeMs)} ms: ${what}`);
  }

  record(world: World, event: NetworkEvent): void {
    if (!world.troubled && this.#count === 0) return; // The tables are being created.
    const process = this.#actorOf(event.process);
    if (!('request' in event)) {
      this.#rest(world, event.kind, process);
      return;
    }
    const request = seenAs(event.request);
    if (request === undefined) return;
    if (event.kind === 'sent') this.#send(event.request, request, process);
    else this.#move(world, event.request, event);
  }

  ended(): Pick<RecordedSimulation, 'story' | 'leftOut'> {
    const from = this.#leftOut.before;
    const pictures: Picture[] = [];
    const events: ExplorerEvent[] = [];
    if (this.#first !== undefined) pictures.push({ ...this.#first, steps: 0, log: [] });
    for (const { picture, event } of this.#steps) {
      const step = event.step - from;
      pictures.push({ ...picture, steps: step });
      const { message } = event;
      const sentAt = Math.max(0, (message?.sentAt ?? 0) - from);
      events.push({ ...event, step, message: message && { ...message, sentAt } });
    }
    return { story: { pictures, events }, leftOut: this.#leftOut };
  }

  /** Its lives have one line: `client 1, life 2` is client 1. */
  #actorOf(life: string): number {
    const name = life.replace(/, life \d+$/, '');
    const known = this.#actors.findIndex((actor) => actor.name === name);
    return known >= 0 ? known : this.#actors.push({ name, state: 'at work' }) - 1;
  }

  #rest(world: World, kind: 'died' | 'paused', process: number): void {
    const actor = this.#actors[process];
    if (actor === undefined) return;
    actor.state = kind === 'died' ? 'dead' : 'paused';
    this.#say(world, `${actor.name} ${kind === 'died' ? 'dies' : 'is paused'}`);
    this.#step(world, { kind: kind === 'died' ? 'crash' : 'pause', process });
  }

  #send(key: ExplorerRequest, request: ExplorerRequest, process: number): void {
    const actor = this.#actors[process];
    if (actor === undefined) return;
    actor.state = 'at work';
    const before = this.#sentBy.get(actor.name) ?? [];
    const number = this.#sent.size;
    const message = { number, process, sender: actor.name, request, sentAt: this.#count };
    this.#sent.set(key, { message, shown: messagePicture(message, before, true) });
    this.#sentBy.set(actor.name, [...before, message].slice(-LOOKED_BACK));
    this.#inFlight.add(key);
  }

  #move(world: World, key: ExplorerRequest, event: NetworkEvent): void {
    const sent = this.#sent.get(key);
    if (sent === undefined) return;
    this.#inFlight.delete(key);
    const { message } = sent;
    const { process } = message;
    const what = describeRequest(message.request);
    if (!('answer' in event)) {
      this.#say(world, `${message.sender} hears no answer: ${what}`);
      this.#step(world, { kind: 'give up', process, message });
      return;
    }
    const answer = told(message.request, event.answer);
    if (isNotification(message.request) && answer === '') return; // A scan that found nothing.
    if (isMutation(message.request)) this.#rows = undefined;
    const isCopy = event.kind === 'applied again';
    const kind = isCopy ? 'copy' : event.isHeard ? 'deliver' : 'lose answer';
    const lost = kind === 'lose answer' ? ' (and its answer is lost)' : '';
    this.#say(world, `${isCopy ? '(copy) ' : ''}${message.sender}: ${what} ▸ ${answer}${lost}`);
    this.#step(world, { kind, process, message, answer });
  }

  #say(world: World, what: string): void {
    this.#log.push(`${Math.round(world.timeline.nowMs)} ms ${what}`);
  }

  #step(world: World, event: Omit<ExplorerEvent, 'step'>): void {
    if (!world.troubled && this.#count > 0 && ++this.#peaceful > PEACEFUL_MAX) {
      this.#leftOut.after++;
      return;
    }
    const picture = this.#pictureOf(world);
    this.#first ??= picture;
    this.#count++;
    this.#steps.push({ event: { ...event, step: this.#count }, picture });
    this.#log = [];
    if (this.#steps.length <= TROUBLED_MAX + PEACEFUL_MAX) return;
    this.#first = this.#steps.shift()?.picture;
    this.#leftOut.before++;
  }

  #pictureOf(world: World): Picture {
    return {
      rows: (this.#rows ??= rowsIn(world)),
      actors: this.#actors.map(({ name, state }) => ({
        role: name,
        name,
        state,
        isPresumedDead: false,
        says: '',
        next: '',
      })),
      messages: [...this.#inFlight].flatMap((request) => this.#sent.get(request)?.shown ?? []),
      arrived: [],
      log: this.#log,
      isTaken: true,
      steps: this.#count,
      nowMs: world.timeline.nowMs,
    };
  }
}

/** Enough to see whether a timestamp is asked for to commit. */
const LOOKED_BACK = 40;

/** The oracle's row is the oracle; undefined for the engine's other tables. */
function seenAs(request: ExplorerRequest): ExplorerRequest | undefined {
  if (!('table' in request)) return request;
  if (request.table === 'timestamp-oracle') return { kind: 'timestamp' };
  return isOwnTable(request.table) ? undefined : request;
}

function isNotification(request: ExplorerRequest): boolean {
  return request.kind === 'range' && request.table.endsWith('.notify');
}

function told(request: ExplorerRequest, answer: unknown): string {
  if (typeof answer === 'string') return answer;
  if (request.kind === 'timestamp') return 'answered';
  if (answer instanceof PercolatorError) return answer.code;
  return isMutation(request) || answer !== undefined
    ? describeAnswer(request, answer as ExplorerAnswer)
    : 'nothing';
}

function rowsIn({ tables }: World): readonly PictureRow[] {
  return [...tables]
    .filter(([name]) => !isOwnTable(name))
    .flatMap(([name, data]) => {
      const filters = data.schema.families.map((family) => ({ family }));
      const rows: readonly Row[] = data.readRange({ limit: Infinity }, filters);
      return rows.flatMap(({ key, cells }) => rowsOf(`${name}/${key}`, cells));
    });
}
