/**
 * A job that fails on purpose, for tests: the first few attempts to map each record throw, or kill
 * their own process in the middle of their output.
 *
 * Attempts are counted in a folder, because each may run in another process.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Slice } from '../bytes.ts';
import type { MapReduceJob } from '../job.ts';

export interface FailingParameters {
  /** Where attempts are counted. */
  readonly folder: string;
  readonly failures: number;
  /** The only record that fails; all others wait for its first attempt. By default all fail. */
  readonly only?: string;
  readonly how: 'throw' | 'kill';
}

export function createJob(parameters: unknown): MapReduceJob {
  const { folder, failures, how, only } = parameters as FailingParameters;
  const nothing = new Slice();
  return {
    map: (record, output) => {
      output.emit(record, nothing);
      const name = record.toString();
      const mayFail = only === undefined || name === only;
      if (!mayFail) waitFor(join(folder, only));
      if (failsAgain(join(folder, name), mayFail ? failures : 0)) fail(how);
    },
    reduce: (key, _values, output) => output.emit(key, nothing),
  };
}

function waitFor(folder: string): void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(folder)) Atomics.wait(never, 0, 0, 1);
}

/** Counts this attempt; returns whether it has to fail. */
function failsAgain(folder: string, failures: number): boolean {
  mkdirSync(folder, { recursive: true });
  const before = readdirSync(folder).length;
  writeFileSync(join(folder, `${before}-${process.pid}`), '');
  return before < failures;
}

function fail(how: FailingParameters['how']): void {
  if (how === 'throw') throw new Error('failed on purpose');
  process.kill(process.pid, 'SIGKILL');
}
