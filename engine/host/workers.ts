/**
 * `percolator worker` and `percolator collector`: the processes that do the work of a database.
 *
 * The observers come from a module of the user's:
 *
 *     export default [observer, ...];
 *     export default async (percolator) => [observer, ...];
 *
 * The function receives the database that the observers run in, so that it can open what they need
 * besides. All workers of a column need all of its observers: give each the same module.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { PercolatorError, takeAll } from '../base/index.ts';
import type { Percolator } from '../database.ts';
import { checkObservers, type Observer, type ObserverFailure } from '../observer/index.ts';
import { type Configuration, wrong } from './configuration.ts';
import { connectTo } from './connect.ts';
import { probesOf } from './health.ts';
import { type Log, nameOf } from './log.ts';
import type { Service, ServiceTools } from './service.ts';

export interface WorkerSettings {
  /** Path of the module. */
  readonly observers: string;
  /** As in `WorkerOptions`. */
  readonly concurrency: number | undefined;
}

export async function startWorker(
  configuration: Configuration,
  { observers: file, concurrency }: WorkerSettings,
  { log, telemetry }: ServiceTools,
): Promise<Service> {
  const made = await loadObservers(file);
  const percolator = await connectTo(configuration, { onWarning: log.warn, log, telemetry });
  try {
    const observers = await observersFrom(made, file, percolator);
    const onFailure = (failure: ObserverFailure): void => sayFailure(log, failure);
    const worker = percolator.startWorker(observers, {
      concurrency,
      onWarning: log.warn,
      onFailure,
    });
    log.say('info', 'works', `the worker runs ${observers.length} observers`, {
      observers: observers.map(({ name, table, column }) => `${name} of ${table}:${column}`),
    });
    return {
      ended: worker.ended,
      probes: [
        ...probesOf(
          percolator,
          observers.map(({ table }) => table),
        ),
        { of: 'the worker', ask: async () => worker.warnings.find(isAgainstWork)?.sentence },
      ],
      drain: async () => {
        // Runs in flight end; the locks of the scanner are given up.
        await takeAll([() => worker.stop(), () => percolator.close()]);
        const { runs, failures } = worker.counters;
        log.say('info', 'worked', 'runs that committed, and failures of observers', {
          runs,
          failures,
        });
      },
    };
  } catch (error) {
    await percolator.close().catch(() => {}); // The first failure says more.
    throw error;
  }
}

/** A table that is missing, or a column that leaves no notifications. */
function isAgainstWork({ kind }: { readonly kind: string }): boolean {
  return ['table', 'column', 'slow scan', 'ended'].includes(kind);
}

/** What the observer threw may hold a user's data: it is told by name, and in the parked list. */
function sayFailure(log: Log, { cell, error, failures, parked }: ObserverFailure): void {
  const { table, column } = cell;
  const fields = { table, column, failures, error: nameOf(error) };
  if (parked) {
    const sentence = 'a cell is parked: percolator parked lists it, with the error';
    log.say('error', 'parked', sentence, fields);
  } else {
    log.say('warn', 'failed', 'an observer failed; its cell rests, and is tried again', fields);
  }
}

type Made = readonly Observer[] | ((percolator: Percolator) => unknown);

async function loadObservers(file: string): Promise<Made> {
  const absolute = path.resolve(file);
  if (!existsSync(absolute)) throw wrong(`--observers ${file} does not exist`);
  let module: { readonly default?: unknown };
  try {
    module = (await import(pathToFileURL(absolute).href)) as { readonly default?: unknown };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n')[0] : String(cause);
    throw wrong(`--observers ${file} cannot be loaded: ${why}`, cause);
  }
  const { default: made } = module;
  if (typeof made === 'function' || Array.isArray(made)) return made as Made;
  throw wrong(
    `--observers ${file} must export by default a list of observers, or a function that returns one`,
  );
}

async function observersFrom(
  made: Made,
  file: string,
  percolator: Percolator,
): Promise<readonly Observer[]> {
  const observers = typeof made === 'function' ? await made(percolator) : made;
  if (Array.isArray(observers) && observers.length === 0) {
    throw wrong(`--observers ${file} has no observer in its list`);
  }
  try {
    checkObservers(observers as readonly Observer[]);
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    throw wrong(`--observers ${file}: ${error.message}`, error);
  }
  return observers as readonly Observer[];
}

export async function startCollector(
  configuration: Configuration,
  { log, telemetry }: ServiceTools,
): Promise<Service> {
  const percolator = await connectTo(configuration, { onWarning: log.warn, log, telemetry });
  const collector = percolator.startCollector({ onWarning: log.warn });
  log.say('info', 'collects', 'the collector looks for versions that no snapshot can see any more');
  return {
    ended: collector.ended,
    probes: [
      ...probesOf(percolator, []),
      { of: 'the collector', ask: async () => collector.warnings[0]?.sentence },
    ],
    drain: () =>
      takeAll([
        () => collector.stop(), // The step in progress ends.
        () => percolator.close(),
      ]),
  };
}
