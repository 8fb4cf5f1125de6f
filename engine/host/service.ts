/**
 * A program that runs until it is told to end: oracle, lock service, worker, collector.
 *
 *     start ─▶ running ─┬─ SIGTERM, SIGINT ─▶ drain ─▶ exit code 0
 *                       │                       └─ not within --drain-seconds ─▶ 1
 *                       ├─ a second signal ──────────────────────────────────▶ 128 + its number
 *                       └─ it cannot go on ─▶ drain ─▶ 1
 *
 * A drain ends what is in flight and gives up what others would wait for: leases, scan locks. It is
 * never needed for safety, since a process may die at any moment; it saves the others the wait.
 *
 * From the beginning to the end it tells on the address `metrics` of the configuration how it is
 * (health-server.ts): ready while it runs and its probes answer.
 */
import process from 'node:process';
import { systemClock } from '../base/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import type { Configuration } from './configuration.ts';
import { Health, type Probe } from './health.ts';
import { type HealthServer, openTelemetry, serveHealth } from './health-server.ts';
import { type Log, nameOf, openLog, reasonOf } from './log.ts';

export interface Service {
  /** Rejects, as soon as the service cannot go on, with what ended it. */
  readonly ended: Promise<void>;
  /** What must answer while it does its work. */
  readonly probes: readonly Probe[];
  /** Ends what is in flight and gives up what others would wait for. */
  drain(): Promise<void>;
}

/** What each service is given. */
export interface ServiceTools {
  readonly log: Log;
  /** Undefined if nothing is to be measured. */
  readonly telemetry: Telemetry | undefined;
}

export interface ServiceOptions {
  readonly name: string;
  readonly configuration: Configuration;
  /** Seconds that a drain may take. */
  readonly drainSeconds: number;
}

type Ending = { readonly signal: NodeJS.Signals } | { readonly error: unknown };

/** Runs the service to its end, and resolves to the exit code. */
export async function runService(
  options: ServiceOptions,
  start: (tools: ServiceTools) => Promise<Service>,
): Promise<number> {
  const { name, configuration, drainSeconds } = options;
  const { metrics } = configuration;
  const log = openLog(name, configuration.log, systemClock);
  const ending = Promise.withResolvers<Ending>();
  const stopListening = onSignals((signal) => ending.resolve({ signal }));
  // At SIGHUP, tls-files.ts reads the certificates again. Without certificates `systemctl reload`
  // sends it, too, and it would end the process.
  process.on('SIGHUP', () => {});
  const health = new Health(systemClock);
  let server: HealthServer | undefined;
  try {
    const { telemetry, respond } = await openTelemetry(metrics);
    if (metrics !== undefined) {
      server = await serveHealth(metrics, health, respond);
      const paths = `http://${server.address} has /livez, /readyz and /metrics`;
      log.say('info', 'health', paths);
    }
    const starting = start({ log, telemetry });
    const service = await Promise.race([starting, ending.promise.then(() => undefined)]);
    if (service === undefined) {
      // A start may wait for a store that does not answer. Nothing is in flight that could drain.
      log.say('info', 'stopped', 'it was stopped before it had started');
      return process.exit(0);
    }
    health.started(service.probes);
    service.ended.catch((error: unknown) => ending.resolve({ error }));
    const end = await ending.promise;
    const failed = 'error' in end;
    health.stops(failed ? 'it cannot go on' : 'it is being stopped');
    if (failed) log.say('error', 'ended', `it cannot go on: ${reasonOf(end.error)}`);
    else log.say('info', 'drains', 'it ends what is in flight', { signal: end.signal });
    const isDrained = await drain(service, drainSeconds, log);
    return failed || !isDrained ? 1 : 0;
  } finally {
    stopListening();
    health.close();
    await server?.close();
  }
}

async function drain(service: Service, seconds: number, log: Log): Promise<boolean> {
  const over = new AbortController();
  const drained = service.drain().then(
    () => 'drained' as const,
    (error: unknown) => ({ error }),
  );
  const late = systemClock.sleep(seconds * 1_000, over.signal).then(() => 'late' as const);
  const result = await Promise.race([drained, late]);
  over.abort();
  if (result === 'drained') {
    log.say('info', 'stopped', 'it has stopped in good order');
    return true;
  }
  if (result === 'late') {
    log.say('error', 'drain-late', 'what was in flight has not ended in time, and is cut off', {
      drainSeconds: seconds,
    });
  } else {
    log.say('error', 'drain-failed', 'it could not stop in good order', {
      error: nameOf(result.error),
    });
  }
  return false;
}

/** The first signal drains; a second one ends the process at once. */
function onSignals(first: (signal: NodeJS.Signals) => void): () => void {
  let isAsked = false;
  const numbers = { SIGINT: 2, SIGTERM: 15 } as const;
  const listeners = Object.entries(numbers).map(([signal, number]) => {
    const listener = (): void => {
      if (isAsked) process.exit(128 + number);
      isAsked = true;
      first(signal as NodeJS.Signals);
    };
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  return () => {
    for (const stop of listeners) stop();
  };
}
