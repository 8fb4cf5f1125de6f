/** Chaos with hosts and cuts at a small size, run as a user would run it. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { env } from 'node:process';
import { describe, test } from 'node:test';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { readRunRecord } from '#results';
import { whyNoHosts } from '../../harness/hosts/inside.ts';
import { assertRefused } from '../../harness/testing/run-script.ts';
import { CUTS } from './cuts.ts';

const MAIN = path.join(import.meta.dirname, 'main.ts');
const skip = (await whyNoHosts()) ?? false;

describe('a round with cuts', { skip }, () => {
  const out = path.join(temporaryFolder(), 'run');

  test('ends without a violation, its seven cuts have hit something, and clients said that they were cut off', async () => {
    const words = ['--hosts', '4', '--cuts', '--workloads', 'bank,pipeline', '--seed', '1'];
    const { exitCode, stdout, stderr } = await execaNode(
      MAIN,
      [...words, '--profile', 'smoke', '--keep', '--out', out],
      { reject: false },
    );
    assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
    const hits = Object.values(CUTS).reduce((sum, cut) => sum + countOf(cut), 0);
    assert.ok(hits >= 7, `so many cuts have hit something: ${stdout}`);
    const lost = countOf('packets dropped by unplugged hosts') + countOf('packets without a way');
    assert.ok(lost > 0, stdout);
    assert.ok(countOf('timestamps taken by witnesses') > 0);
    assert.ok(countOf('calls of clients that failed, and said why') > 0, stdout);
  });

  test('has processes whose addresses exist only inside', () => {
    const history = path.join(out, 'evidence', 'round-1', 'history');
    const names = readdirSync(history);
    assert.ok(names.some((name) => name.startsWith('witness-1.')));
    const lines = readFileSync(path.join(history, 'watcher.1.jsonl'), 'utf8').split('\n');
    assert.ok(lines.length > 2, 'the watcher has read');
  });

  function countOf(what: string): number {
    const cuts = readRunRecord(out).findings?.tables.find(({ name }) => name === 'cuts');
    return Number(cuts?.rows.find(([name]) => name === what)?.[1]);
  }
});

test(
  'P35: an oracle whose lease never ends is convicted once its host has been stopped',
  {
    skip,
  },
  async () => {
    const fixture = new URL('endless-lease.fixture.ts', import.meta.url);
    const NODE_OPTIONS = `${env['NODE_OPTIONS'] ?? ''} --import ${fixture.href}`;
    const words = ['--hosts', '5', '--processes', '2', '--cuts', '--pairs', '1'];
    const { exitCode, stdout, stderr } = await execaNode(
      MAIN,
      [
        ...words,
        '--profile',
        'smoke',
        '--workloads',
        'bank',
        '--out',
        path.join(temporaryFolder(), 'run'),
      ],
      { reject: false, env: { NODE_OPTIONS } },
    );
    assert.equal(exitCode, 1, `${stdout}\n${stderr}`);
    assert.match(stdout, /^ +oracle: timestamps grow in the order of time +[1-9]/m);
  },
);

test('what hosts and cuts do not go with is refused in a sentence', () => {
  const out = ['--out', path.join(temporaryFolder(), 'run')];
  return assertRefused(MAIN, [
    [
      ['--cuts', ...out],
      /^--cuts cuts hosts off from one another, so it needs --hosts, such as --hosts 7\.$/m,
    ],
    [['--hosts', '1', ...out], /^--hosts must be at least 2 here, but is 1\.$/m],
    [
      ['--hosts', '4', '--store', 'hbase', ...out],
      /^--hosts must be at least 7 here, but is 4\.$/m,
    ],
    [
      ['--hosts', '7', '--store', 'emulator', ...out],
      /^--hosts needs --store embedded or --store hbase, which can be on hosts, but --store is emulator\.$/m,
    ],
    [['--hosts', '7', '--power-cuts', ...out], /^--power-cuts cannot be combined with --hosts/m],
  ]);
});
