/**
 * Mistakes that users of single scripts make: each gets one clear sentence and exit code 2, and
 * nothing half-written stays.
 */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { REFERENCE_FOLDER } from '#results';
import packageJson from '../../../package.json' with { type: 'json' };

const ROOT = path.resolve(import.meta.dirname, '../../..');
const place = temporaryFolder();
const at = (name: string): string => path.join(place, name);
writeFileSync(at('file'), 'x');
mkdirSync(at('empty'));
// The record and what was measured, without the report.
for (const part of ['run.json', 'histograms', 'time-series']) {
  const measured = path.join(REFERENCE_FOLDER, 'figure-7', part);
  cpSync(measured, at(`damaged/${part}`), { recursive: true });
}
const [histogram = ''] = readdirSync(at('damaged/histograms'));
writeFileSync(at(`damaged/histograms/${histogram}`), '\0\0\0');

interface Mistake {
  readonly script: keyof typeof packageJson.scripts;
  readonly words: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly says: RegExp;
}

/** A PATH on which there is no npm. */
const NO_PROGRAMS = { PATH: at('empty') };

const MISTAKES: readonly Mistake[] = [
  {
    script: 'pack:engine',
    words: ['--out', at('out')],
    env: NO_PROGRAMS,
    says: /^npm is needed to pack the engine, and is not on PATH; it usually comes with Node\.$/,
  },
  {
    script: 'relock',
    words: [],
    env: NO_PROGRAMS,
    says: /^npm is needed to resolve the dependencies, and is not on PATH; it usually .*\.$/,
  },
  {
    script: 'bench:oracle',
    words: ['--out', '-x', '--profile', 'smoke'],
    says: /^--out needs a value, but -x follows it; .* --help lists the options\.$/,
  },
  {
    script: 'bench:oracle',
    words: ['--profile', 'smoke', '--out', '--secconds'],
    says: /^--out needs a value, but --secconds follows it; /,
  },
  {
    script: 'bench:oracle',
    words: ['--out', '/proc'],
    says: /^--out must be a folder that can be written, but "\/proc" takes no files\.$/,
  },
  {
    script: 'bench:notify-latency',
    words: ['--rates', '0', '--out', at('out')],
    says: /^--rates must be different numbers from 0\.1 to 10000, in writes per second, /,
  },
  {
    script: 'bench:brokerage',
    words: ['--system', 'postgres', '--broker', 'side-table', '--out', at('out')],
    says: /^--broker must be omit or inline with --system postgres, which has no observers, but is "side-table"\.$/,
  },
  // Without a word about a plan, or of what is prepared, before it.
  {
    script: 'bench:crawl-rate',
    words: ['--profile', 'smoke', '--store', 'emulator', '--out', at('out')],
    env: { BIGTABLE_EMULATOR_HOST: '127.0.0.1:1' },
    says: /^--store: no Bigtable answers at 127\.0\.0\.1:1: No connection established\..*$/,
  },
  {
    script: 'bench:crawl-rate',
    words: ['--profile', 'smoke', '--store', 'hbase://localhost:99999', '--out', at('out')],
    says: /^--store must be embedded, .*\(a port: 1 to 65535\), but is "hbase:\/\/localhost:99999"\.$/,
  },
  {
    script: 'bench:crawl-rate',
    words: ['--profile', 'smoke', '--input', at('file'), '--out', at('out')],
    says: /\n--input must be a WARC file, but ".*file" begins with "x" instead of "WARC\/"\.$/,
  },
  {
    script: 'fsck',
    words: ['--store', at('nowhere')],
    says: /^--store must be the folder of an embedded store, but ".*nowhere" does not exist\.$/,
  },
  {
    script: 'fsck',
    words: ['--store', at('file')],
    says: /^--store must be the folder of an embedded store, but ".*file" is not a folder.*\.$/,
  },
  {
    script: 'bench:micro',
    words: ['--store', 'embedded', '--store', 'foo'],
    says: /^--store must be .*, but is \["embedded","foo"\]\.$/,
  },
  {
    script: 'report',
    words: [at('damaged')],
    says: /^The histogram file .*\.hlog must be an HdrHistogram log, but is damaged\.$/,
  },
  {
    script: 'compare',
    words: ['figure-7,figure-8', 'figure-9'],
    says: /^The runs of A must be repeats .* differ in experiment \(crawl-rate, micro\)\.$/,
  },
];

for (const { script, words, env = {}, says } of MISTAKES) {
  test(`${script} ${words.join(' ').replaceAll(place, '')}${Object.keys(env).join()}`, async () => {
    const before = readdirSync(place, { recursive: true });
    const program = path.join(ROOT, packageJson.scripts[script].replace('node ', ''));
    // Without the test runner's own options, which load every-test-asserts.ts.
    const options = { cwd: place, nodeOptions: [], reject: false, env, timeout: 300_000 } as const;
    const { exitCode, stdout, stderr } = await execaNode(program, words, options);
    assert.match(stderr, says);
    assert.deepEqual([exitCode, stdout], [2, ''], stderr);
    // A plan may come before the sentence.
    assert.equal(stderr.split('\n').filter((line) => !line.startsWith('Plan: ')).length, 1);
    assert.deepEqual(readdirSync(place, { recursive: true }), before);
  });
}

test('bench:micro tells once why the only store cannot be measured', async () => {
  const env = { BIGTABLE_EMULATOR_HOST: 'nonsense' };
  const program = path.join(ROOT, packageJson.scripts['bench:micro'].replace('node ', ''));
  const words = ['--profile', 'smoke', '--store', 'emulator', '--out', at('out')];
  const { exitCode, stderr } = await execaNode(program, words, { env, reject: false });
  assert.equal(exitCode, 2);
  assert.equal(stderr.match(/must be host:port/g)?.length, 1, stderr);
  assert.ok(!existsSync(at('out')));
});
