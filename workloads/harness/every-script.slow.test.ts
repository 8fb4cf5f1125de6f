/**
 * What every script answers in the same way: a mistake of its user, with one clear sentence and
 * exit code 2, before anything is written; ctrl-C, with a record of what it had; the file that
 * `./run.sh tune` writes, even if some settings have no effect on it. Plans count in words that fit
 * the number.
 */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { REFERENCE_FOLDER } from '#results';
import packageJson from '../../package.json' with { type: 'json' };
import { DEFAULTS } from '../tools/tune/tuned-workloads.ts';
import { asConfig } from './engine-settings.ts';
import { interruptScript, runInTurn } from './testing/run-script.ts';

type Script = keyof typeof packageJson.scripts;

const ROOT = path.dirname(path.dirname(import.meta.dirname));
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

function programOf(script: Script): string {
  return path.join(ROOT, packageJson.scripts[script].replace('node ', ''));
}

const ONE_SEARCH = '--scenario one-cell --suspicion crashed --lost-answers 0';

/**
 * Mistakes of one script each, and the answers. Each is a line of words that the script refuses
 * before it starts anything, so that all can be carried out in one process.
 */
const REFUSED: { readonly [S in Script]?: readonly (readonly [words: string, says: RegExp])[] } = {
  'bench:brokerage': [
    ['--customers 150', /--customers.*multiple of 100.*"150"/],
    ['--price-period 1', /--price-period.*"1"/],
    ['--price-period 2.001', /--price-period.*even number of milliseconds.*"2\.001"/],
    ['--price-period 16.1 --customers 150', /^--customers/],
    ['--system oracle', /--system.*"oracle"/],
    ['--broker maybe', /--broker.*"maybe"/],
    ['--rates 0', /--rates.*"0"/],
    ['--tpse 1', /--tpse/],
    ['--system postgres --brokers', /^--brokers .* --system /],
    ['--system postgres --store embedded', /^--store has .* --system is post/],
    ['--unpaced --rates 1,10', /^--rates .*--paced/],
    ['--system percolator --store embedded --reads --processes 2', /^--processes .*--paced.*"2"/],
    [
      '--store hbase --store hbase://a:1 --profile smoke',
      /^--store must name stores of different kinds, .* "hbase:\/\/a:1"\.$/,
    ],
  ],
  'bench:cluster': [
    ['--calibration guess', /^--calibration must be .* but is "guess"\.$/],
    ['--figure 8 --rates 1', /^--rates .*$/],
    ['--rates 90,0.01 --machines 2', /^--rates .* 0\.01 % .* none to 2 machines\.$/],
    ['--figure validation --calibration hbase', /^--calibration .*$/],
  ],
  'bench:crawl-rate': [
    ['--ratse 1', /--ratse/],
    ['--rates 0', /--rates.*"0"/],
    ['--repository 10', /--repository.*"10"/],
    ['--repository 10000001', /--repository.*"10000001"/],
    [
      '--repository 10000000 --rates 1,100 --seconds 3600',
      /--repository, --rates, --seconds and .* at most 16,777,216 documents, .* 20,008,333\./,
    ],
    ['--sweep repository --rates 5', /--rates .*--sweep rates/],
    ['--profile huge', /--profile.*"huge"/],
    ['--input no-such-file.warc.gz', /--input.*no-such-file/],
  ],
  'bench:failover': [
    ['--region-servers 2', /^--region-servers must be .* from 3 to 24, but is "2"\.$/],
    ['--down 1', /^--down must be .*, but is "1"\.$/],
    [
      '--rate 100 --capacity-seconds 60',
      /^--capacity-seconds has an effect only with no --rate, but --rate is 100\.$/,
    ],
    ['--repository 500', /^--repository has an effect only with --workload crawl-rate, but/],
  ],
  'bench:mapreduce': [
    ['--documents 0', /--documents/],
    ['--workers two', /--workers/],
    ['--repeats 1e9', /--repeats/],
    ['--memory -1', /--memory/],
    ['--speed 3', /--speed/],
    ['--documents 100000000 --document-bytes 1048576', /--out .* free/],
  ],
  'bench:micro': [
    ['--store floppy', /^--store must be embedded, .* but is "floppy"\.$/],
    [
      '--profile smoke --store embedded --concurrency 601',
      /^--concurrency must be at most --rows, which is 600, .*, but is 601\.$/,
    ],
    ['--processes 2 --concurrency 1', /^--concurrency must be at least --processes/],
  ],
  'bench:notify-latency': [
    ['--store floppy', /^--store must be embedded, .* but is "floppy"\.$/],
    [
      '--store emulator --no-fsync',
      /^--no-fsync has an effect only with --store embedded, but --store is emulator\.$/,
    ],
    [
      '--batch-rows 7',
      /^--batch-rows has an effect only with --batching on, but --batching is off\.$/,
    ],
  ],
  'bench:oracle': [
    ['--clients 0', /^--clients /],
    ['--clients 1,8 --callers 4', /^--callers must be at least the largest of --clients/],
  ],
  'bench:scanners': [['--scanners 0', /^--scanners .*$/]],
  'bench:versions': [['--versions 0', /^--versions .*$/]],
  chaos: [
    ['--watch --hosts 3', /^--watch has no effect with --hosts: .* no browser reaches\.$/],
    ['--watch 65536', /^--watch must be a whole number from 0 to 65535, but is "65536"\.$/],
    ['--workloads bank,tpc-c', /--workloads.*"tpc-c"/],
    ['--store floppy', /--store.*floppy/],
    ['--processes 0', /--processes.*"0"/],
    ['--seconds 0', /--seconds.*"0"/],
    ['--pairs 0', /--pairs.*"0"/],
    ['--power-cuts --store emulator', /--power-cuts.*embedded.*emulator/],
  ],
  exhaust: [
    ['--scenario nonsense', /^--scenario must be one of one-cell, /],
    ['--replay 0', /^--replay needs one --scenario, /],
    ['--replay 0 --json', /^--json .* with --replay there is none/],
    [`${ONE_SEARCH} --replay 0.99`, /there is no choice 99/],
    [`${ONE_SEARCH} --replay a`, /must be .*, but is "a"\.$/m],
    [`${ONE_SEARCH} --replay 0..0`, /must be .*, but is "0\.\.0"\.$/m],
    [`${ONE_SEARCH} --replay 0.`, /must be .*, but is "0\."\.$/m],
  ],
  mutants: [
    ['--update', /^--update needs --seeds of at least 1, .* --seeds is 0\.$/],
    ['--seed 77', /^--seed needs --seeds of at least 1, .* --seeds is 0\.$/],
    ['--only unknown', /^--only must name a mutant, .* but is "unknown"\.$/],
  ],
  'mutants:machine': [['--only nowhere', /^--only must name a folder, .*, but is "nowhere"\.$/m]],
  'plan-cluster': [
    ['', /^Either --documents-per-second or --documents-per-hour must be given, and not both: /],
    ['--documents-per-second 1 --documents-per-hour 3600', /^Either --documents-/],
    ['--documents-per-second 0', /^--documents-per-second must be a number from /],
    ['--workload brokerage', /^--trade-results-per-second must be given: /],
    ['--trade-results-per-second 5', /^--trade-results-per-second has an effect only with /],
    ['--calibration guess --documents-per-second 1', /^--calibration must be /],
    ['--documents-per-second 1 --percentile 95', /^--percentile must be one of /],
  ],
};

test('each script refuses a mistake in one sentence, and makes nothing', async () => {
  const out = at('never');
  const mistakes = Object.entries(REFUSED).flatMap(([script, lines]) =>
    lines.map(([words, says]) => ({ script: script as Script, words, says })),
  );
  const lines = mistakes.map(({ script, words }) => {
    const given = words.split(' ').filter(Boolean);
    const isRun = script !== 'plan-cluster';
    return { program: programOf(script), words: isRun ? [...given, '--out', out] : given };
  });
  // Without Java, an option that is wrongly accepted starts no HBase.
  const ended = await runInTurn(lines, { JAVA_HOME: '/nowhere' });
  for (const [i, { script, words, says }] of mistakes.entries()) {
    const line = `${script} ${words}`;
    const { exitCode, stdout, stderr = '' } = ended[i] ?? {};
    assert.match(stderr, says, line);
    const [, ...more] = stderr.split('\n').filter((one) => !one.startsWith('Plan: '));
    assert.deepEqual([exitCode, stdout, more], [2, '', []], line);
  }
  assert.ok(!existsSync(out));
});

interface Mistake {
  readonly script: Script;
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
    // Without the test runner's own options, which load checks/every-test-asserts.ts.
    const options = { cwd: place, nodeOptions: [], reject: false, env, timeout: 300_000 } as const;
    const { exitCode, stdout, stderr } = await execaNode(programOf(script), words, options);
    assert.match(stderr, says);
    assert.deepEqual([exitCode, stdout], [2, ''], stderr);
    // A plan may come before the sentence.
    assert.equal(stderr.split('\n').filter((line) => !line.startsWith('Plan: ')).length, 1);
    assert.deepEqual(readdirSync(place, { recursive: true }), before);
  });
}

test('bench:micro tells once why the only store cannot be measured', async () => {
  const env = { BIGTABLE_EMULATOR_HOST: 'nonsense' };
  const words = ['--profile', 'smoke', '--store', 'emulator', '--out', at('out')];
  const { exitCode, stderr } = await execaNode(programOf('bench:micro'), words, {
    env,
    reject: false,
  });
  assert.equal(exitCode, 2);
  assert.equal(stderr.match(/must be host:port/g)?.length, 1, stderr);
  assert.ok(!existsSync(at('out')));
});

/** A run of each script, when it is interrupted, and what it says at its end. */
const INTERRUPTED: readonly (readonly [
  script: Script,
  words: string,
  when: string,
  says?: RegExp,
])[] = [
  ['bench:cluster', '--profile smoke --rates 10 --machines 40', 'simulating'],
  ['bench:micro', '--store embedded --profile smoke --seconds 5', 'figure 8 ...'],
  [
    'simulate',
    '--seeds 100000',
    'simulating ...',
    /^NOT proven: none of the \d+ of 100,000 runs that ended broke a rule\.$/m,
  ],
  [
    // Its first conviction takes half a minute.
    'mutants',
    '--only no-second-look-at-leases --seeds 1000000',
    'hunting ...',
    /^NOT proven: none of the 0 of 1 mutant that ended got away\.$/m,
  ],
];

describe('ctrl-C ends a run, which keeps its record, and leaves no work files:', () => {
  for (const [script, words, when, says = /./] of INTERRUPTED) {
    test(`${script} ${words}`, async () => {
      const ended = await interruptScript(programOf(script), words.split(' '), when);
      assert.equal(ended.exitCode, 130, ended.stderr);
      assert.match(ended.stdout, says);
      const { state, findings } = ended.record();
      assert.equal(state, 'interrupted');
      if (script.startsWith('bench:')) assert.deepEqual(findings?.tables ?? [], []);
      assert.ok(!existsSync(path.join(ended.out, 'work')));
    });
  }
});

test('every benchmark knows every setting that tune recommends', async () => {
  const config = path.join(temporaryFolder(), 'config.json');
  // The last setting stops the script before it does anything.
  // The script would report an earlier unknown setting first.
  writeFileSync(config, JSON.stringify({ ...asConfig(DEFAULTS), 'no-such-setting': 1 }));
  const lines = Object.entries(packageJson.scripts).flatMap(([script, command]) => {
    const program = /^node (\S+\.ts)$/.exec(command)?.[1];
    if (!script.startsWith('bench:') || program === undefined) return [];
    return [{ program: path.join(ROOT, program), words: ['--config', config] }];
  });
  for (const [i, { exitCode, stderr }] of (await runInTurn(lines)).entries()) {
    assert.equal(exitCode, 2, lines[i]?.program);
    assert.match(stderr, /there is no --no-such-setting\.$/);
  }
});

/** The smallest run of each script whose plan counts something. */
const SMALLEST: { readonly [S in Script]?: string } = {
  'bench:brokerage': '--system percolator --days 1',
  'bench:crawl-rate': '--rates 100',
  'bench:micro': '--repeats 1 --concurrency 1 --store embedded --processes 1',
  'bench:notify-latency': '--rates 5',
  'bench:oracle': '--clients 1 --callers 1',
  'bench:scanners': '--scanners 1',
};

for (const [script, words] of Object.entries(SMALLEST)) {
  test(`the plan of ${script} ${words} counts one of a thing in the singular`, async () => {
    const program = programOf(script as Script);
    const smoke = ['--profile', 'smoke', ...words.split(' ')];
    const { stderr } = await interruptScript(program, smoke, 'Plan: ');
    const [plan = ''] = /^Plan: .*$/m.exec(stderr) ?? [stderr];
    assert.match(plan, /\b(?:1|one) [a-z]{2,}/); // Otherwise the options count nothing.
    assert.doesNotMatch(plan, /\b1 (?:[a-z]+ )?[a-z]+[^s\W]s\b/);
  });
}
