/**
 * The benchmark with `--processes`: the work of its clients is measured and checked, and all
 * processes are gone afterwards.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { execaNode } from 'execa';
import { readRunRecord } from '#results';
import { temporaryFolder } from '#engine/testing';
import { ownCpuUs } from '../harness/processes/processor-time.ts';
import { openBenchStore } from './bench-store.ts';
import { checkWritten } from './data.ts';
import { measureFigure8 } from './figure-8.ts';
import { smallPlan } from './plan.fixture.ts';

const MAIN = path.join(import.meta.dirname, 'main.ts');
const FORGETFUL = new URL('forgetful-client.fixture.ts', import.meta.url);
const IN_PROCESSES = ['--profile', 'smoke', '--processes', '2', '--figure-only'];
const EMBEDDED = [...IN_PROCESSES, '--store', 'embedded'];
/** More processor time than a client needs before its work begins, in microseconds. */
const AT_WORK_US = 200_000;
const folder = temporaryFolder();

describe('with --processes', () => {
  test('clients, oracle and lock service are processes, and their costs are in the record', async () => {
    const out = path.join(folder, 'run');
    const options = [...IN_PROCESSES, '--repeats', '1', '--rows', '200', '--out', out];
    const { exitCode, stdout, stderr } = await execaNode(MAIN, options, { reject: false });
    assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
    assert.match(stderr, /^Plan: .*, 2 client processes;/m);
    const { findings, parameters, limitations } = readRunRecord(out);
    assert.equal(parameters['processes'], 2);
    assert.match(limitations.join(' '), /2 processes together are the client of figure 8/);
    assert.match(limitations.join(' '), /embedded storage .* its CPU time is that of the server/);
    assert.equal(findings?.check.passed, true);
    const rowOf = (table: string, store: string): readonly unknown[] => {
      const rows = findings?.tables.find(({ name }) => name === table)?.rows;
      return rows?.find(([of, name]) => of === store && name === 'Percolator read') ?? [];
    };
    const stores = stderr.includes('Not measured: emulator')
      ? ['embedded']
      : ['embedded', 'emulator'];
    for (const store of stores) {
      // Operations per second, microseconds, and CPU of client, server and services.
      const [, , perSecond, , client, server, services] = rowOf('processor', store);
      assert.ok(Number(perSecond) > 0 && Number(client) > 1);
      // The embedded storage runs in the benchmark's own process, which serves the clients.
      if (store === 'embedded') assert.ok(Number(server) > 1);
      assert.ok(process.platform !== 'linux' || typeof services === 'number');
      // The storage calls of the oracle, which is another process, are not counted.
      assert.equal(rowOf('messages', store)[2], 1);
    }
    assert.deepEqual(processesOf(out), []);
  });

  test('the check finds a client that acknowledges writes that it did not make', async () => {
    // More rows than the counting of messages, at the end, overwrites.
    const small = { rows: 1_000, concurrency: 8, processes: 2 };
    const plan = smallPlan(path.join(folder, 'forgetful'), small);
    const { signal } = new AbortController();
    await using bench = await openBenchStore('embedded', plan, signal);
    await measureFigure8(bench, plan, { signal, onPhase: () => {} }, FORGETFUL);
    const [sentence] = await checkWritten(bench.percolator, bench.data, bench.written);
    assert.match(sentence ?? '', /^Percolator: row w\d+ should be of operation \d+, but is/);
  });
});

describe('a run in processes, in the middle of figure 8,', { skip: hasNoProc() }, () => {
  test('leaves no process if it is interrupted', async () => {
    const out = path.join(folder, 'interrupted');
    const { child } = await startLong(out);
    child.kill('SIGINT');
    assert.equal((await child).exitCode, 130);
    assert.equal(readRunRecord(out).state, 'interrupted');
    assert.deepEqual(processesOf(out), []);
  });

  test('names a client that was killed, and ends the others', async () => {
    const out = path.join(folder, 'killed');
    const { child } = await startLong(out);
    const victim = processesOf(out).find(({ command }) => command.includes('client-process'));
    assert.ok(victim !== undefined);
    process.kill(victim.pid, 'SIGKILL');
    const { exitCode, stderr } = await child;
    assert.equal(exitCode, 1);
    const sentence = new RegExp(
      `^Error: client [12] \\(process ${victim.pid}\\) was ended by`,
      'm',
    );
    assert.match(stderr, sentence);
    assert.deepEqual(processesOf(out), []);
  });
});

/** Starts the benchmark, and waits until its clients work. */
async function startLong(out: string) {
  const options = [...EMBEDDED, '--repeats', '100', '--out', out];
  const child = execaNode(MAIN, options, { reject: false });
  const ended = child.then(() => true);
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo() && !(await Promise.race([ended, setTimeout(20, false)])));
  };
  const clients = (): ReturnType<typeof processesOf> =>
    processesOf(out).filter(({ command }) => command.includes('client-process'));
  await until(() => clients().length === 2);
  // The first client does nothing until the second has loaded and both begin to work.
  const before = clients().map(({ pid }) => ({ pid, cpuUs: ownCpuUs(pid) ?? 0 }));
  await until(() => before.every(({ pid, cpuUs }) => (ownCpuUs(pid) ?? 0) > cpuUs + AT_WORK_US));
  return { child }; // Wrapped in an object: a promise would be awaited.
}

function hasNoProc(): string | false {
  return process.platform === 'linux' ? false : 'needs /proc to find the processes of a run';
}

/** Processes whose command line names the folder of a run. */
function processesOf(out: string): readonly { readonly pid: number; readonly command: string }[] {
  if (hasNoProc() !== false) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), command: commandOf(name) }))
    .filter(({ command }) => command.includes(out));
}

/** Empty if the process has ended. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
