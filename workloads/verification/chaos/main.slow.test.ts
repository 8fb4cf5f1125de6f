/** Chaos at small sizes, run as a user would run it. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { env, kill } from 'node:process';
import { describe, test } from 'node:test';
import { execaNode } from 'execa';
import { systemClock, whyNoHBase } from '#engine';
import { temporaryFolder, until } from '#engine/testing';
import { readRunRecord } from '#results';
import { startProgress } from '#harness';
import { asConfig } from '../../harness/engine-settings.ts';
import { runScript } from '../../harness/testing/run-script.ts';
import { bank, ring } from '../invariants/transactions.ts';
import { plansOf, PROCESSES, settingOf, SIZES } from './plan.ts';
import { type Round, runRound } from './round.ts';

const MAIN = path.join(import.meta.dirname, 'main.ts');
const folder = temporaryFolder();

/** Runs the script; without `--out` into a folder that no test looks at. */
function start(...options: string[]): ReturnType<typeof execaNode<{ reject: false }>> {
  const out = options.includes('--out') ? [] : ['--out', path.join(temporaryFolder(), 'run')];
  return execaNode(MAIN, [...options, ...out], { reject: false });
}

const smokeFolder = path.join(folder, 'smoke');
const smoke = await start('--profile', 'smoke', '--keep', '--out', smokeFolder);

describe('the smoke profile', () => {
  const out = smokeFolder;
  const { exitCode, stdout, stderr } = smoke;

  test('passes, and says its seed in the plan, and what every workload did', () => {
    assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
    assert.match(stderr, /^Plan: 1 round, seed \d+; about /);
    for (const name of ['bank', 'ring', 'overdraft', 'pieces', 'list-append', 'pipeline']) {
      const row = new RegExp(`^ +${name} +([\\d,]+) +([\\d,]+) `, 'm').exec(stdout);
      assert.ok(Number(row?.[2]?.replaceAll(',', '')) > 0, `${name} has committed`);
    }
    assert.ok(totalOf(out, 'restarts') > 0, 'processes were killed before the end');
    assert.equal(totalOf(out, 'kills of services'), 0);
    assert.ok(totalOf(out, 'changes that readers were told of') > 100);
    assert.match(stdout, /^Checked: none of 1 round broke a rule(?:\.$|, but they tested )/m);
  });

  test('keeps with --keep the store, the history of every life, and the records of the storage', () => {
    const evidence = path.join(out, 'evidence');
    assert.ok(stderr.includes(`\nStores and histories: ${evidence}\n`));
    const round = path.join(evidence, 'round-1');
    for (const name of ['store', 'history', 'stored.jsonl', 'violations.json']) {
      assert.ok(existsSync(path.join(round, name)), name);
    }
    const lives = readdirSync(path.join(round, 'history'));
    assert.ok(lives.length >= 4, 'a life that is killed before it has begun leaves no file');
    assert.ok(lives.includes('watcher.1.jsonl'));
    assert.ok(!lives.includes('watcher.2.jsonl'), 'the watcher is never killed before the end');
  });
});

test('a process that ends on its own is a violation: exit code 1, and everything is kept', async () => {
  const out = path.join(folder, 'planted');
  // The round takes longer than the test needs to kill the watcher, which starts first, however
  // slow the machine.
  const child = start('--pairs', '20', '--workloads', 'bank', '--out', out);
  kill(await processOf(out, 'watcher'), 'SIGKILL');
  const { exitCode, stdout, stderr } = await child;
  assert.equal(exitCode, 1, `${stdout}\n${stderr}`);
  assert.match(stdout, /^NOT proven: 1 of 1 round .*: round 1 \(1 violation\)\.$/m);
  assert.match(stdout, /^ +processes: none ends on its own +1 +watcher\.1 .*SIGKILL/m);
  assert.ok(existsSync(path.join(out, 'evidence', 'round-1', 'store')));
  assert.ok(!existsSync(path.join(out, 'work')));
});

for (const [what, fixture, claim] of [
  [
    'an observer that fails',
    new URL('failing-observer.fixture.ts', import.meta.url),
    /observers: none fails/,
  ],
  [
    'a worker that ends on its own',
    new URL('ended-worker.fixture.ts', import.meta.url),
    /processes: none ends on its own/,
  ],
  [
    'a change that a reader is not told of',
    new URL('forgetful-reader.fixture.ts', import.meta.url),
    /changes: not each once, in order/,
  ],
] as const) {
  test(`${what} is a violation`, async () => {
    const NODE_OPTIONS = `${env['NODE_OPTIONS'] ?? ''} --import ${fixture.href}`;
    const enough = ['--pairs', '20', '--runs', '20', '--seconds', '60'];
    const words = ['--workloads', 'pipeline', ...enough];
    const { exitCode, stdout, stderr } = await runScript(MAIN, words, { env: { NODE_OPTIONS } });
    assert.equal(exitCode, 1, `${stdout}\n${stderr}`);
    assert.match(stdout, claim);
  });
}

test('oracles and lock service can be processes that are killed as well, without a violation', async () => {
  // So few pairs are reached before the first service is killed: the round waits for it.
  const floors = ['--pairs', '20', '--runs', '5'];
  const options = ['--services', '--workloads', 'bank,pipeline', '--seed', '20', ...floors];
  const out = path.join(folder, 'services');
  const { exitCode, stdout, stderr } = await start(...options, '--out', out);
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  assert.ok(totalOf(out, 'kills of services') > 0);
  const [, committed] = /^ +together +[\d,]+ +([\d,]+)/m.exec(stdout) ?? [];
  assert.ok(Number(committed?.replaceAll(',', '')) > 5, 'more than the first transactions');
});

describe('a power cut at the end of a round', () => {
  const options = ['--power-cuts', '--workloads', 'bank,ring', '--pairs', '200', '--seed', '2'];

  test('leaves every acknowledged commit', async () => {
    const { exitCode, stdout, stderr } = await start(...options);
    assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  });

  test('convicts a store that does not sync', async () => {
    // The command line refuses the pair, so the round is run without it.
    const { cut, verdict } = await roundWithoutSync();
    // A store that syncs may have nothing in flight at the moment of the cut.
    assert.ok((cut?.bytesAtRisk ?? 0) > 0);
    const lost = verdict.violations.find(({ claim }) => claim.endsWith(': lost commit'));
    assert.match(lost?.message ?? '', /^the transaction of \d+ /, JSON.stringify(verdict));
  });
});

/** The round of these options, with a store that does not sync. */
function roundWithoutSync(): Promise<Round> {
  const sizes = { ...SIZES.quick, pairs: 200 };
  const flags = { services: false, gc: false, noFsync: false, powerCuts: true };
  const network = { hosts: 0, cuts: false };
  const usual = {
    seed: 2,
    processes: PROCESSES,
    regionServers: 0,
    store: undefined,
    ...flags,
    ...network,
  };
  const { engine } = settingOf({ engine: {} });
  const options = { ...engine, ...usual, ...sizes };
  const [plan] = plansOf(options, [bank, ring], path.join(folder, 'without-sync'));
  assert.ok(plan !== undefined);
  const { signal } = new AbortController();
  return runRound({ ...plan, fsync: false }, { progress: startProgress(), signal });
}

test('settings come from a file as tune writes it; without --keep, a sound run keeps no store and no history', async () => {
  const out = path.join(folder, 'tuned');
  const file = path.join(folder, 'tuned.json');
  const batches = { batching: 'on', batchDelay: 2, batchRows: 128, batchInFlight: 4 } as const;
  const settings = asConfig({ ...batches, prefetch: 'learn', scanners: 2 });
  writeFileSync(file, JSON.stringify(settings));
  const options = ['--config', file, '--workloads', 'bank,ring,pipeline', '--pairs', '100'];
  const more = ['--seed', '5', '--gc', '--no-fsync'];
  const { exitCode, stdout, stderr } = await start(...options, ...more, '--out', out);
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  assert.match(
    stdout,
    / --batching on --batch-delay 2 --batch-rows 128 --batch-in-flight 4 --prefetch learn --scanners 2 --gc --workloads /,
  );
  assert.equal(readRunRecord(out).seed, 5);
  const folders = readdirSync(out, { withFileTypes: true }).filter((one) => one.isDirectory());
  assert.deepEqual(folders, []);
});

test('chaos also runs on the official emulator', async (t) => {
  const options = ['--store', 'emulator', '--workloads', 'bank', '--pairs', '5'];
  const { exitCode, stdout, stderr } = await start(...options);
  const missing =
    /^--store: the official Bigtable emulator \(cbtemulator\) is neither on PATH nor in /m;
  if (exitCode === 2 && missing.test(stderr)) return t.skip('no emulator found');
  return assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
});

test('chaos also runs on HBase', async (t) => {
  const why = await whyNoHBase(process.env);
  if (why !== undefined) return t.skip(why);
  const out = path.join(folder, 'hbase');
  const floors = ['--pairs', '40', '--runs', '10', '--workloads', 'bank,pipeline', '--seed', '3'];
  const hbase = ['--store', 'hbase', '--region-servers', '0'];
  const { exitCode, stdout, stderr } = await start(...hbase, ...floors, '--out', out);
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  return assert.ok(totalOf(out, 'restarts') > 0);
});

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGKILL', undefined],
] as const) {
  test(`${signal} leaves no process running`, async () => {
    const out = path.join(folder, signal);
    const child = start('--seconds', '60', '--workloads', 'bank', '--out', out);
    await processOf(out, 'watcher');
    const process = await processOf(out, '1');
    child.kill(signal);
    const { exitCode, stdout } = await child;
    assert.equal(exitCode, code);
    if (signal === 'SIGINT') {
      assert.match(stdout, /^NOT proven: none of the 0 of 1 round that ended /m);
      assert.deepEqual(
        [readRunRecord(out).state, existsSync(path.join(out, 'work'))],
        ['interrupted', false],
      );
    } else {
      // Every process that is not paused writes its counts twenty times a second, so a history that
      // still grows shows that one is running.
      await until(async () => {
        const size = written(out);
        await systemClock.sleep(1_000);
        return written(out) === size;
      });
    }
    // A paused process ends only when its pause is over.
    await until(() => !isThere(process));
  });
}

function isThere(process: number): boolean {
  try {
    return kill(process, 0);
  } catch {
    return false;
  }
}

test('interrupted twice, chaos ends at once, and leaves no store and no history', async () => {
  const out = path.join(folder, 'twice');
  const child = start('--seconds', '60', '--workloads', 'bank', '--out', out);
  await processOf(out, 'watcher');
  // Two signals of one kind at once would count as one. These may be delivered in either order.
  assert.ok(child.kill('SIGINT') && child.kill('SIGTERM'));
  const { exitCode, stdout } = await child;
  assert.ok(exitCode === 130 || exitCode === 143, String(exitCode));
  assert.equal(stdout, '', 'stopping in good order ends with a report');
  assert.equal(readRunRecord(out).state, 'interrupted');
  assert.ok(!existsSync(path.join(out, 'work')));
});

test('a round that ends short of a floor says so', async () => {
  // With a longer seed the table would be too wide, and its rows would be printed as columns.
  const options = ['--seconds', '1', '--pairs', '1000000', '--workloads', 'bank', '--seed', '5'];
  const { exitCode, stdout } = await start(...options);
  assert.match(stdout, /^ +round .* not reached +options$\n .* [\d,]+ of 1,000,000 pairs /m);
  assert.equal(exitCode, 0, 'the command line set the seconds');
});

/**
 * The process in a slot, as soon as one of its lives has opened its history. The first life may be
 * killed before that.
 */
async function processOf(out: string, slot: string): Promise<number> {
  const history = path.join(out, 'work', 'round-1', 'history');
  for (;;) {
    const lives = existsSync(history) ? readdirSync(history) : [];
    for (const life of lives.filter((name) => name.startsWith(`${slot}.`))) {
      const [line = ''] = readFileSync(path.join(history, life), 'utf8').split('\n');
      if (line !== '') return (JSON.parse(line) as { readonly pid: number }).pid;
    }
    await systemClock.sleep(10);
  }
}

function written(out: string): number {
  const history = path.join(out, 'work', 'round-1', 'history');
  const sizes = readdirSync(history).map((name) => statSync(path.join(history, name)).size);
  return sizes.reduce((sum, size) => sum + size, 0);
}

function totalOf(out: string, what: string): number {
  const totals = readRunRecord(out).findings?.tables.find(({ name }) => name === 'totals');
  return Number(totals?.rows.find(([name]) => name === what)?.[1]);
}
