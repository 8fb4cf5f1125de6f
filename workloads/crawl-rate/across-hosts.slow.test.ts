/** bench:crawl-rate with its processes on three hosts, which are namespaces with addresses. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execaNode } from 'execa';
import { whyNoHBase } from '#engine';
import { temporaryFolder } from '#engine/testing';
import { readRunRecord } from '#results';
import { whyNoHosts } from '../harness/hosts/inside.ts';
import { runScript } from '../harness/testing/run-script.ts';

const FIXTURE = fileURLToPath(new URL('across-hosts.fixture.ts', import.meta.url));
const skip = (await whyNoHosts()) ?? (await whyNoHBase(process.env)) ?? false;

interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Exit codes of the agents. */
  readonly ends: readonly number[];
}

test(
  'three hosts, none of which shares a loopback with another, cluster what arrives, and the check passes',
  { skip },
  async () => {
    const out = path.join(temporaryFolder(), 'run');
    const words = ['--profile', 'smoke', '--rates', '5000', '--processes', '3', '--out', out];
    const { stdout } = await execaNode(FIXTURE, ['3', ...words]);
    const { exitCode, ends, stderr } = JSON.parse(stdout) as Ended;
    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(ends, [0, 0, 0]);
    const { findings, parameters } = readRunRecord(out);
    assert.ok(findings.check.passed, findings.check.detail);
    assert.equal(parameters['hosts'], 3);
    const hosts = findings.tables.find(({ name }) => name === 'hosts')?.rows ?? [];
    assert.deepEqual(
      hosts.map(([name, , , processes]) => [name, processes]),
      [
        ['this one', 'what measures: load, batch and checks'],
        ['host-1', 'oracle-1, worker-2'],
        ['host-2', 'lock-service, worker-3'],
        ['host-3', 'worker-1, the loader'],
      ],
    );
    assert.ok(hosts.every(([, cores, memory]) => Number(cores) > 0 && Number(memory) > 0));
  },
);

for (const [script, words, sentence] of [
  [
    './main.ts',
    ['--hosts', '2'],
    /^--hosts needs a store that all hosts reach, such as --store hbase:\/\/host:port, but --store is embedded, a folder of one machine\.$/m,
  ],
  [
    './main.ts',
    ['--listen', '127.0.0.1:0'],
    /^--listen has an effect only with --hosts, but no other host is awaited\.$/m,
  ],
  [
    '../microbench/main.ts',
    ['--hosts=2'],
    /^--hosts: bench:micro measures a slice from the first begin to the last end of all its clients, by the clock/m,
  ],
] as const) {
  test(`${script} ${words.join(' ')} is refused in a sentence, and writes nothing`, async () => {
    const out = path.join(temporaryFolder(), 'run');
    const ended = await runScript(new URL(script, import.meta.url), [...words, '--out', out]);
    assert.equal(ended.exitCode, 2);
    assert.match(ended.stderr, sentence);
    assert.ok(!existsSync(out));
  });
}
