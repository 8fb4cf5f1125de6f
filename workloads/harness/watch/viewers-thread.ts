/**
 * The thread that serves the page of a watched run, and has its clock. It makes the page from the
 * record and the timeline so far, so a page that is opened late, or again, shows the whole run.
 *
 *     GET /         the page
 *     GET /events   what is new, as server-sent events (results/report/page/live-script.ts)
 *
 * A viewer that does not read loses its connection before what waits for it fills the memory; a
 * browser then connects again, and begins with the whole page.
 */
import type { ServerResponse } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import { type ChartSample, liveContent, livePage, type RunRecord, UsageError } from '#results';
import { beginEvents, type LoopbackServer, openLoopbackServer, send } from '../loopback-server.ts';
import { CoresInUse } from './cores.ts';
import type { FromViewers, ToViewers } from './live.ts';
import { chartOf, GrowingTimeline } from './timeline.ts';

const SECOND_MS = 1_000;
/** A page has some hundred kilobytes. */
const WAITING_BYTES_MAX = 8 * 2 ** 20;
const VIEWERS_MAX = 32;

class Viewers {
  readonly #viewers = new Set<ServerResponse>();
  readonly #timeline = new GrowingTimeline();
  #record: RunRecord | undefined;
  /** The first record; a page that is asked for earlier waits for it. */
  readonly #begun = Promise.withResolvers<RunRecord>();
  #status = 'beginning';
  /** The version of the page that the viewers have, and that there is. */
  #sent = 0;
  #recordVersion = 0;

  answer(url: URL | null, response: ServerResponse): void {
    if (url?.pathname === '/events') return this.#join(response);
    if (url?.pathname !== '/') {
      return send(response, { status: 404, type: 'text/plain', text: 'No such page is here.\n' });
    }
    return void this.#begun.promise
      .then((record) => this.#answerPage(record, response))
      .catch((error: unknown) => void response.destroy(error as Error));
  }

  /** @param first the first record */
  #answerPage(first: RunRecord, response: ServerResponse): void {
    const text = livePage(this.#recordNow() ?? first, this.#status);
    send(response, { status: 200, type: 'text/html', text });
  }

  hear(message: Exclude<ToViewers, { readonly kind: 'end' }>): void {
    if (message.kind === 'record') {
      this.#record = message.record;
      this.#recordVersion++;
      this.#begun.resolve(message.record);
    } else if (message.kind === 'event') this.#timeline.event(message.seconds, message.label);
    else if (message.kind === 'phase') this.#timeline.phase(message.seconds, message.label);
    else this.#second(message);
  }

  /** Resolves when each viewer has the report, or is gone. */
  async end(line: string): Promise<void> {
    this.#tellPage();
    const viewers = [...this.#viewers];
    this.#tell('end', line);
    const gone = viewers.map((viewer) => new Promise((resolve) => viewer.once('close', resolve)));
    for (const viewer of viewers) viewer.end();
    await Promise.all(gone);
  }

  #second({ seconds, samples, status }: Extract<ToViewers, { readonly kind: 'second' }>): void {
    this.#status = status;
    const added = this.#timeline.add(seconds, samples);
    this.#tell('status', status);
    if (this.#version() !== this.#sent) return this.#tellPage();
    const values = added.map(({ panel, series, value }) => {
      return { chart: chartOf(panel), series, value };
    });
    this.#tell('sample', { seconds, values } satisfies ChartSample);
  }

  #version(): number {
    return this.#timeline.version + this.#recordVersion;
  }

  #tellPage(): void {
    const record = this.#recordNow();
    if (record === undefined || this.#viewers.size === 0) return;
    this.#sent = this.#version();
    this.#tell('page', liveContent(record));
  }

  #recordNow(): RunRecord | undefined {
    if (this.#record === undefined) return undefined;
    return { ...this.#record, timeline: this.#record.timeline ?? this.#timeline.timeline };
  }

  #join(response: ServerResponse): void {
    if (this.#viewers.size >= VIEWERS_MAX) {
      const text = `${VIEWERS_MAX} pages follow this run, and no more can.\n`;
      return send(response, { status: 503, type: 'text/plain', text });
    }
    if (!beginEvents(response)) return undefined;
    this.#viewers.add(response);
    response.on('close', () => this.#viewers.delete(response));
    response.on('error', () => this.#viewers.delete(response));
    const record = this.#recordNow();
    if (record !== undefined) response.write(eventOf('page', liveContent(record)));
    return undefined;
  }

  #tell(event: string, data: unknown): void {
    if (this.#viewers.size === 0) return;
    const text = eventOf(event, data);
    for (const viewer of this.#viewers) {
      if (viewer.writableLength > WAITING_BYTES_MAX) viewer.destroy();
      else viewer.write(text);
    }
  }
}

function eventOf(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

function say(message: FromViewers): void {
  parentPort?.postMessage(message);
}

const { port, pid } = workerData as { readonly port: number; readonly pid: number };
const viewers = new Viewers();
const cores = new CoresInUse(pid);

async function open(): Promise<LoopbackServer | undefined> {
  try {
    return await openLoopbackServer({
      port,
      option: '--watch',
      policy: "frame-ancestors 'none'; base-uri 'none'", // The page itself has the rest.
      answer: (url, response) => viewers.answer(url, response),
      failed: (reason) => ({ status: 500, type: 'text/plain', text: `${reason}\n` }),
    });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    say({ kind: 'refused', sentence: error.message });
    return undefined;
  }
}

const server = await open();
if (server !== undefined) {
  const ticker = setInterval(() => say({ kind: 'second', cores: cores.read() }), SECOND_MS);
  const leave = async (line: string): Promise<void> => {
    clearInterval(ticker);
    await viewers.end(line);
    await server[Symbol.asyncDispose]();
    parentPort?.close();
  };
  parentPort?.on('message', (message: ToViewers) => {
    if (message.kind === 'end') void leave(message.line);
    else viewers.hear(message);
  });
  say({ kind: 'listening', url: server.url });
}
