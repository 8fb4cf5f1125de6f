/**
 * The settings of the engine that can be tuned: as options of scripts, and as arguments of
 * `openPercolator`; `scanners` is the number of workers that a process starts. `./run.sh tune`
 * recommends values for these options, in a file for `--config`.
 */
import type { BatchingOptions } from '#engine';
import { choice, integer, number, onlyWith, type Option } from './command-line/options.ts';

export interface EngineSettings {
  readonly batching: BatchingOptions | 'off';
  readonly prefetch: 'off' | 'learn';
}

/** The settings as on a command line, and in a file for `--config`. */
export interface EngineValues {
  readonly batching: 'off' | 'on';
  readonly batchDelay: number;
  readonly batchRows: number;
  readonly batchInFlight: number;
  readonly prefetch: 'off' | 'learn';
  readonly scanners: number;
}

/** The settings of a database, without those of its workers. */
export type DatabaseValues = Omit<EngineValues, 'scanners'>;

export const DATABASE_OPTIONS: { readonly [K in keyof DatabaseValues]: Option<DatabaseValues[K]> } =
  {
    batching: choice({
      choices: ['off', 'on'],
      description: 'merge the operations of concurrent transactions into fewer storage calls',
      default: 'off',
    }),
    batchDelay: onlyWith(
      { batching: ['on'] },
      number({
        description:
          'longest wait of an operation for others to share its call, while calls are in flight; too long, and transactions are slow',
        default: 1,
        min: 0,
        max: 1_000,
        unit: 'ms',
      }),
    ),
    batchRows: onlyWith(
      { batching: ['on'] },
      integer({
        description: 'most rows in a call; too many, and the first waits for the last',
        default: 256,
        min: 1,
        max: 100_000,
      }),
    ),
    batchInFlight: onlyWith(
      { batching: ['on'] },
      integer({
        description:
          'most calls in flight for each kind of operation; too few, and the storage idles; too many, and batches stay small',
        default: 8,
        min: 1,
        max: 10_000,
      }),
    ),
    prefetch: choice({
      choices: ['off', 'learn'],
      description:
        'read in advance the columns that earlier transactions of the same kind went on to read',
      default: 'off',
    }),
  };

export const ENGINE_OPTIONS: { readonly [K in keyof EngineValues]: Option<EngineValues[K]> } = {
  ...DATABASE_OPTIONS,
  scanners: integer({
    description:
      'workers of each process, which scan for notifications and run observers; its runs in flight are divided among them',
    default: 1,
    min: 1,
    max: 64,
  }),
};

/** Picks the engine's settings from a script's options. */
export function engineValuesOf(options: EngineValues): EngineValues {
  const { batching, batchDelay, batchRows, batchInFlight, prefetch, scanners } = options;
  return { batching, batchDelay, batchRows, batchInFlight, prefetch, scanners };
}

/** The settings as the content of a file for `--config`. */
export function asConfig(values: EngineValues): Readonly<Record<string, string | number>> {
  return {
    batching: values.batching,
    'batch-delay': values.batchDelay,
    'batch-rows': values.batchRows,
    'batch-in-flight': values.batchInFlight,
    prefetch: values.prefetch,
    scanners: values.scanners,
  };
}

export function settingsOf(values: DatabaseValues): EngineSettings {
  const { batching, batchDelay, batchRows, batchInFlight, prefetch } = values;
  if (batching === 'off') return { batching, prefetch };
  const options = { delayMs: batchDelay, rowsMax: batchRows, inFlightMax: batchInFlight };
  return { batching: options, prefetch };
}
