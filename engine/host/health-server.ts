/**
 * What an operator and a monitoring system ask a process for, over HTTP, on the address `metrics`:
 *
 *     /livez      200, or 503 with a sentence: start the process anew
 *     /readyz     200, or 503 with a sentence: it does not do its work now (health.ts)
 *     /metrics    what docs/operations.md lists, as Prometheus reads it
 *
 * It answers without encryption, and to all that reach the address. It says nothing of a user's
 * data, and there is nothing that it could be told to do.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createNoopMeter, metrics, ProxyTracerProvider, trace } from '@opentelemetry/api';
import type { Meter, Tracer } from '@opentelemetry/api';
import { loadPackages } from '../base/index.ts';
import { createTelemetry, type Telemetry } from '../telemetry/index.ts';
import { wrong } from './configuration.ts';
import type { Health } from './health.ts';

/** The name of what measures. */
const SCOPE = 'percolator-engine';
/** Milliseconds in which a request must have arrived. No silent connection is held for longer. */
const REQUEST_MS = 10_000;
const CONNECTIONS_MAX = 100;

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

export interface ProcessTelemetry {
  /** Undefined if there is no place for what is measured. */
  readonly telemetry: Telemetry | undefined;
  /** Answers /metrics. */
  readonly respond: Respond | undefined;
}

/**
 * The telemetry of a process. Spans go to the tracer that a program has registered globally, as
 * `node --import` of an SDK does. So do metrics, unless there is an address for Prometheus.
 * @throws PACKAGE_MISSING if the packages for Prometheus are not installed
 */
export async function openTelemetry(address: string | undefined): Promise<ProcessTelemetry> {
  const tracer = globalTracer();
  const prometheus = address === undefined ? undefined : await openPrometheus();
  const meter = prometheus?.meter ?? globalMeter();
  const isWanted = meter !== undefined || tracer !== undefined;
  return {
    telemetry: isWanted ? createTelemetry({ meter, tracer }) : undefined,
    respond: prometheus?.respond,
  };
}

function globalTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  const isProxy = provider instanceof ProxyTracerProvider;
  return isProxy ? provider.getDelegateTracer(SCOPE) : provider.getTracer(SCOPE);
}

function globalMeter(): Meter | undefined {
  const meter = metrics.getMeter(SCOPE);
  return meter === createNoopMeter() ? undefined : meter;
}

async function openPrometheus(): Promise<{ readonly meter: Meter; readonly respond: Respond }> {
  const [{ MeterProvider }, { PrometheusExporter }] = await loadPackages(
    'the setting metrics',
    ['@opentelemetry/sdk-metrics', '@opentelemetry/exporter-prometheus'],
    () =>
      Promise.all([
        import('@opentelemetry/sdk-metrics'),
        import('@opentelemetry/exporter-prometheus'),
      ]),
  );
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true,
  });
  const meter = new MeterProvider({ readers: [exporter] }).getMeter(SCOPE);
  return { meter, respond: exporter.getMetricsRequestHandler.bind(exporter) };
}

export interface HealthServer {
  /** Host and port. */
  readonly address: string;
  close(): Promise<void>;
}

/** @throws INVALID_ARGUMENT if it cannot listen at the address */
export async function serveHealth(
  address: string,
  health: Health,
  respond: Respond | undefined,
): Promise<HealthServer> {
  const server = createServer({
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: REQUEST_MS,
    connectionsCheckingInterval: 1_000,
  });
  server.setTimeout(REQUEST_MS); // A peer that asks and never reads.
  server.maxConnections = CONNECTIONS_MAX;
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    void answer(request, response, { health, respond });
  });
  const [, host = '', port = ''] = /^\[?(.+?)\]?:(\d+)$/.exec(address) ?? [];
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        wrong(`metrics ${address}: nothing can listen there (${cause.code ?? 'no reason'})`, cause),
      );
    });
    server.listen({ host, port: Number(port) }, resolve);
  });
  server.on('error', () => {}); // One connection could not be accepted, for lack of files.
  server.unref(); // It serves the process, and does not keep it alive.
  const { port: bound } = server.address() as AddressInfo;
  return {
    address: `${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  { health, respond }: { readonly health: Health; readonly respond: Respond | undefined },
): Promise<void> {
  const [path] = url.split('?', 1);
  const say = (status: number, sentence: string): void => {
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(method === 'HEAD' ? undefined : `${sentence}\n`);
  };
  if (method !== 'GET' && method !== 'HEAD') return say(405, 'only GET and HEAD are answered');
  if (path === '/livez') {
    const why = health.whyNotLive();
    return say(why === undefined ? 200 : 503, why ?? 'live');
  }
  if (path === '/readyz') {
    const why = await health.whyNotReady();
    return say(why === undefined ? 200 : 503, why ?? 'ready');
  }
  if (path === '/metrics' && respond !== undefined) return respond({} as IncomingMessage, response);
  return say(404, 'there are /livez, /readyz and /metrics');
}
