/**
 * The connections of one process to a simulated cluster, in virtual time.
 *
 *     call ──delay──▶ the server: now, or when it goes on ──delay──▶ answer
 *                          └─▶ another process by now, or the connection broke: lost
 *
 * Answers on a connection keep their order, and its end comes after them, as with TCP. Clients hear
 * of the end of a server only then; what they send before that is lost. A call whose time is up may
 * still be applied.
 */
import { HBaseFailure } from '../../../../engine/bigtable/hbase/failures.ts';
import type { Codec, Framed } from '../../../../engine/bigtable/hbase/messages.ts';
import type { Channel, Service } from '../../../../engine/bigtable/hbase/servers.ts';
import type { ServerAnswer } from '../../../../engine/testing/hbase/answers.ts';
import { chance, chooseBetween } from '../chance.ts';
import type { SimulatedProcess } from '../process.ts';
import type { Timeline } from '../../world/event-loop.ts';
import { CALL_FAULTS, type CallFault, type HBaseCluster, type HBaseKnobs } from './cluster.ts';

export interface WireOptions {
  readonly seed: number;
  readonly knobs: HBaseKnobs;
  readonly timeline: Timeline;
  readonly cluster: HBaseCluster;
  readonly process: SimulatedProcess;
}

/** The purpose of each draw of chance about a call; 0 decides which fault it meets. */
const REQUEST_DELAY = 1;
const ANSWER_DELAY = 2;
const HOW = 3;
const PAUSE = 4;
/** How much longer a slow answer is on its way, at most. */
const SLOW_MS = 4000;

export function connectTo(options: WireOptions): (address: string, service: Service) => Channel {
  return (address, service) => new SimulatedChannel(options, address, service);
}

interface Pending {
  readonly reject: (failure: HBaseFailure) => void;
}

/** A connection to one process of a server; the next is made once the client hears of its end. */
interface Link {
  readonly process: number;
  readonly pending: Set<Pending>;
  /** When the last answer so far arrives. */
  lastMs: number;
  isBroken: boolean;
}

class SimulatedChannel implements Channel {
  readonly #options: WireOptions;
  readonly #address: string;
  readonly #service: Service;
  #link: Link | undefined;

  constructor(options: WireOptions, address: string, service: Service) {
    this.#options = options;
    this.#address = address;
    this.#service = service;
    options.cluster.onEnd.add((ended) => {
      if (ended === address) this.#break();
    });
  }

  call<Response>(
    method: string,
    { type, value, response }: { type: Framed; value: object; response: Codec<Response> },
    timeoutMs: number,
  ): Promise<Response> {
    const parameter = type.append(value).finish();
    return new Promise((resolve, reject) => {
      this.#options.process.emit(() => {
        this.#send({ method, parameter, timeoutMs }, reject, (answer) => {
          if ('message' in answer) resolve(response.decode(answer.message));
          else {
            const { className, stackTrace } = answer.exception;
            reject(HBaseFailure.ofException(className, stackTrace));
          }
        });
      });
    });
  }

  close(): void {
    this.#break();
  }

  #send(
    call: { method: string; parameter: Uint8Array; timeoutMs: number },
    reject: (failure: HBaseFailure) => void,
    resolve: (answer: ServerAnswer) => void,
  ): void {
    const { timeline, cluster, process, seed } = this.#options;
    const number = process.messages++;
    const draw = (purpose: number): number => chance(seed, process.id, number, purpose);
    const link = this.#connected();
    if (link === undefined) {
      const failure = new HBaseFailure('unsent', `no connection to ${this.#address}`);
      timeline.after(1, () => process.deliver(() => reject(failure)));
      return;
    }
    const fault = this.#faultOf(draw(0));
    const pending: Pending = { reject };
    link.pending.add(pending);
    timeline.after(call.timeoutMs, () => {
      if (!link.pending.delete(pending)) return;
      process.deliver(() => reject(new HBaseFailure('late', `no answer in ${call.timeoutMs} ms`)));
    });
    const isSlow = fault === 'pauseAfterAnswer';
    const delayMs = this.#delay(draw(ANSWER_DELAY)) + (isSlow ? draw(HOW) * SLOW_MS : 0);
    const answer = (given: ServerAnswer): void => {
      this.#answer(link, pending, delayMs, () => resolve(given));
      if (isSlow) cluster.pause(this.#address, draw(PAUSE));
    };
    timeline.after(this.#delay(draw(REQUEST_DELAY)), () => {
      const isBreaking = fault === 'breakConnection';
      if (isBreaking && draw(HOW) < 0.5) return this.#break(link);
      cluster.atServer(this.#address, () => {
        if (cluster.processAt(this.#address) !== link.process) return this.#break(link);
        // The call is applied, and its answer is lost with the connection.
        this.#serve(call, { fault, drawn: draw(HOW) }, isBreaking ? () => {} : answer);
        if (isBreaking) this.#break(link);
      });
    });
  }

  #serve(
    { method, parameter }: { method: string; parameter: Uint8Array },
    { fault, drawn }: { fault: CallFault | undefined; drawn: number },
    answer: (given: ServerAnswer) => void,
  ): void {
    const { cluster } = this.#options;
    if (fault === 'busy') return answer(exception('CallQueueTooBigException', 'busy'));
    const given = cluster.services(this.#address, this.#service, method, parameter);
    if (fault === 'pauseBeforeAnswer') cluster.pause(this.#address, drawn);
    if (fault === 'crashBeforeAnswer') cluster.crash(this.#address);
    cluster.atServer(this.#address, () => {
      answer(fault === 'failAfter' ? exception('IOException', 'broken afterwards') : given);
    });
  }

  /** The answer leaves now, and arrives after those that left before. */
  #answer(link: Link, pending: Pending, delayMs: number, hear: () => void): void {
    const { timeline, process } = this.#options;
    if (link.isBroken) return;
    link.lastMs = Math.max(link.lastMs, timeline.nowMs + delayMs);
    timeline.at(link.lastMs, () => {
      if (link.pending.delete(pending)) process.deliver(hear);
    });
  }

  #connected(): Link | undefined {
    if (this.#link !== undefined) return this.#link;
    const process = this.#options.cluster.processAt(this.#address);
    if (process === undefined) return undefined;
    this.#link = { process, pending: new Set(), lastMs: 0, isBroken: false };
    return this.#link;
  }

  /** The server sends nothing more; the client hears of this after all answers on their way. */
  #break(link: Link | undefined = this.#link): void {
    if (link === undefined || link.isBroken) return;
    const { timeline, process } = this.#options;
    link.isBroken = true;
    // One moment later: the code that an answer wakes runs before the end is heard.
    timeline.at(Math.max(link.lastMs, timeline.nowMs) + 1, () => {
      process.deliver(() => {
        timeline.after(1, () => process.deliver(() => this.#end(link)));
      });
    });
  }

  #end(link: Link): void {
    if (this.#link === link) this.#link = undefined;
    const failure = new HBaseFailure('lost', `the connection to ${this.#address} was lost`);
    const lost = [...link.pending];
    link.pending.clear();
    for (const { reject } of lost) reject(failure);
  }

  #delay(drawn: number): number {
    const { cluster, knobs } = this.#options;
    return cluster.troubled ? chooseBetween(0, knobs.delayMsMax, drawn) : 1;
  }

  #faultOf(drawn: number): CallFault | undefined {
    const { cluster, knobs } = this.#options;
    if (!cluster.troubled) return undefined;
    let upTo = 0;
    for (const fault of CALL_FAULTS) {
      upTo += knobs.calls[fault] ?? 0;
      if (drawn >= upTo) continue;
      cluster.count(fault);
      return fault;
    }
    return undefined;
  }
}

function exception(name: string, message: string): ServerAnswer {
  const className = `org.apache.hadoop.hbase.${name}`;
  return { exception: { className, stackTrace: `${className}: ${message}` } };
}
