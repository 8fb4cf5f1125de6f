/** A program of `percolator` as a process of a test: started, asked over HTTP, and ended. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import process from 'node:process';
import type { TestContext } from 'node:test';
import { freePorts, until } from '../testing/index.ts';

export const MAIN: string = path.join(import.meta.dirname, 'main.ts');

export interface Program {
  readonly child: ChildProcess;
  readonly stderr: () => string;
  /** Status and body; undefined without an answer within `ms`. */
  readonly ask: (
    where: string,
    ms?: number,
  ) => Promise<{ status: number; text: string } | undefined>;
  /** Waits until readiness says this. */
  readonly says: (expected: RegExp) => Promise<void>;
  readonly end: (signal: NodeJS.Signals) => Promise<number | null>;
}

export async function start(
  t: TestContext,
  folder: string,
  ...words: readonly string[]
): Promise<Program> {
  const [port] = await freePorts(1);
  const child = spawn(
    process.execPath,
    [MAIN, ...words, '--store', path.join(folder, 'data'), '--metrics', `127.0.0.1:${port}`],
    { cwd: folder, stdio: ['ignore', 'inherit', 'pipe'] },
  );
  let stderr = '';
  child.stderr?.on('data', (data: Buffer) => {
    stderr += data.toString();
  });
  const exited = once(child, 'exit');
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
  });
  const ask: Program['ask'] = async (where, ms = 30_000) => {
    try {
      const signal = AbortSignal.timeout(ms);
      const response = await fetch(`http://127.0.0.1:${port}${where}`, { signal });
      return { status: response.status, text: await response.text() };
    } catch {
      return undefined;
    }
  };
  return {
    child,
    stderr: () => stderr,
    ask,
    says: (expected) =>
      until(async () => {
        assert.equal(child.exitCode, null, stderr);
        const answer = await ask('/readyz');
        return answer !== undefined && expected.test(`${answer.status} ${answer.text}`);
      }),
    end: async (signal) => {
      child.kill(signal);
      await exited;
      return child.exitCode;
    },
  };
}

export async function run(folder: string, ...words: readonly string[]): Promise<number | null> {
  const all = [MAIN, ...words, '--store', path.join(folder, 'data')];
  const child = spawn(process.execPath, all, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child, 'exit');
  return child.exitCode;
}
