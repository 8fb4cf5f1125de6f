/** Chaos at smoke size, run as a user would run it. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { kill } from 'node:process';
import { describe, test } from 'node:test';
import { execaNode } from 'execa';
import { systemClock } from '#engine';
import { temporaryFolder } from '#engine/testing';

const MAIN = path.join(import.meta.dirname, 'main.ts');
const folder = temporaryFolder();

function start(...options: string[]): ReturnType<typeof execaNode<{ reject: false }>> {
  return execaNode(MAIN, options, { reject: false });
}

describe('the smoke profile', async () => {
  const out = path.join(folder, 'smoke');
  const { exitCode, stdout, stderr } = await start('--profile', 'smoke', '--folder', out);

  test('passes, and prints the seed first and a table of what every workload did', () => {
    assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
    assert.match(stdout, /^chaos, profile smoke, seed \d+/);
    for (const name of ['bank', 'ring', 'overdraft', 'pieces', 'list-append', 'pipeline']) {
      const row = new RegExp(`^${name} +([\\d,]+) +([\\d,]+) `, 'm').exec(stdout);
      assert.ok(Number(row?.[2]?.replaceAll(',', '')) > 0, `${name} has committed`);
    }
    assert.match(
      stdout,
      /^round 1: .* [\d,]+ pairs, \d+ runs, 0 violations \(--seed \d+ --store emb/m,
    );
    assert.match(stdout, /^kills: [1-9]\d*; of services: 0; pauses: \d+; .*restarts: [1-9]/m);
    assert.match(stdout, /^pairs of overlapping writers: [1-9][\d,]*; runs of observers: [1-9]/m);
    assert.match(stdout, /^violations: 0$/m);
  });

  test('keeps the store, the history of every life, and the records of the storage', () => {
    assert.ok(stdout.endsWith(`: ${out}`));
    const round = path.join(out, 'round-1');
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
  const child = start('--pairs', '20', '--workloads', 'bank', '--folder', out);
  kill(await processOf(out, 'watcher'), 'SIGKILL');
  const { exitCode, stdout, stderr } = await child;
  assert.equal(exitCode, 1, `${stdout}\n${stderr}`);
  assert.match(
    stdout,
    /^violations: 1\n {2}processes: none ends on its own \(1\)\n {4}watcher\.1 .*SIGKILL/m,
  );
  assert.ok(stdout.endsWith(`: ${out}`));
  assert.ok(existsSync(path.join(out, 'round-1', 'store')));
});

test('oracles and lock service can be processes that are killed as well, without a violation', async () => {
  // The schedule of this seed soon kills services.
  const floors = ['--pairs', '300', '--runs', '50'];
  const options = ['--services', '--workloads', 'bank,pipeline', '--seed', '20', ...floors];
  const { exitCode, stdout, stderr } = await start(...options);
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  assert.match(stdout, /^kills: \d+; of services: [1-9]/m);
  const [, committed] = /^together +[\d,]+ +([\d,]+)/m.exec(stdout) ?? [];
  assert.ok(Number(committed?.replaceAll(',', '')) > 5, 'more than the first transactions');
  assert.match(stdout, /^violations: 0$/m);
});

test('settings come from a file written by tune: batching, reading ahead, several workers', async () => {
  const file = path.join(folder, 'tuned.json');
  const settings = { batching: 'on', 'batch-delay': 1, prefetch: 'learn', scanners: 2 };
  writeFileSync(file, JSON.stringify(settings));
  const options = ['--config', file, '--workloads', 'bank,pipeline', '--pairs', '100'];
  const { exitCode, stdout, stderr } = await start(...options);
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  assert.match(stdout, /^violations: 0$/m);
});

test('chaos also runs on the official emulator', async (t) => {
  const options = ['--store', 'emulator', '--workloads', 'bank', '--pairs', '5'];
  const { exitCode, stdout, stderr } = await start(...options);
  if (exitCode === 2 && stderr.includes('emulator')) return t.skip('no emulator found');
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  return assert.match(stdout, /^violations: 0$/m);
});

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGKILL', undefined],
] as const) {
  test(`${signal} leaves no process running`, async () => {
    const out = path.join(folder, signal);
    const child = start('--seconds', '60', '--workloads', 'bank', '--folder', out);
    await processOf(out, '1');
    await processOf(out, 'watcher');
    child.kill(signal);
    assert.equal((await child).exitCode, code);
    // Every live process writes its counts twenty times a second; the last one may be paused.
    if (signal === 'SIGKILL') await systemClock.sleep(1_500);
    const size = written(out);
    await systemClock.sleep(400);
    assert.equal(written(out), size);
  });
}

test('without --folder, a run that found nothing leaves nothing', async () => {
  const temporary = temporaryFolder();
  const env = { TMPDIR: temporary };
  const options = ['--pairs', '50', '--workloads', 'ring', '--seed', '5', '--gc', '--no-fsync'];
  const { exitCode, stdout } = await execaNode(MAIN, options, { reject: false, env });
  assert.equal(exitCode, 0, stdout);
  assert.match(stdout, /seed 5:/);
  assert.deepEqual(readdirSync(temporary), []);
});

test('a round that ends short of a floor says so', async () => {
  const options = ['--seconds', '2', '--pairs', '1000000', '--workloads', 'bank'];
  const { exitCode, stdout } = await start(...options);
  assert.match(stdout, /^NOT reached in \d s: [\d,]+ of 1,000,000 pairs of overlapping writers$/m);
  assert.doesNotMatch(stdout, /runs of observers$/m);
  assert.equal(exitCode, 0, 'the command line set the seconds');
});

describe('bad input', () => {
  const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['an unknown workload', ['--workloads', 'bank,tpc-c'], /--workloads.*"tpc-c"/],
    ['an unknown store', ['--store', 'floppy'], /--store.*floppy/],
    ['no process', ['--processes', '0'], /--processes.*"0"/],
    ['a run of no time', ['--seconds', '0'], /--seconds.*"0"/],
    ['a round of no pairs', ['--pairs', '0'], /--pairs.*"0"/],
  ];
  for (const [name, options, sentence] of cases) {
    test(`${name} is answered with one sentence and exit code 2`, async () => {
      const never = path.join(folder, 'never');
      const { exitCode, stderr } = await start(...options, '--folder', never);
      assert.equal(exitCode, 2);
      assert.match(stderr, sentence);
      assert.equal(stderr.split('\n').length, 1);
      assert.equal(existsSync(never), false);
    });
  }
});

/**
 * The process in a slot, as soon as one of its lives has opened its history. The first life may be
 * killed before that.
 */
async function processOf(out: string, slot: string): Promise<number> {
  const history = path.join(out, 'round-1', 'history');
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
  const history = path.join(out, 'round-1', 'history');
  const sizes = readdirSync(history).map((name) => statSync(path.join(history, name)).size);
  return sizes.reduce((sum, size) => sum + size, 0);
}
