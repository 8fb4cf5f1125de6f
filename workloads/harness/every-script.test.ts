/**
 * Every benchmark accepts the file that `./run.sh tune` writes, even if some settings have no
 * effect on it. Plans count in words that fit the number.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { temporaryFolder } from '#engine/testing';
import { DEFAULTS } from '../tools/tune/candidates.ts';
import { asConfig } from './engine-settings.ts';
import { interruptScript, runInTurn } from './testing/run-script.ts';

const ROOT = path.dirname(path.dirname(import.meta.dirname));
const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

test('every benchmark knows every setting that tune recommends', async () => {
  const config = path.join(temporaryFolder(), 'config.json');
  // The last setting stops the script before it does anything.
  // The script would report an earlier unknown setting first.
  writeFileSync(config, JSON.stringify({ ...asConfig(DEFAULTS), 'no-such-setting': 1 }));
  const lines = Object.entries(scripts).flatMap(([script, command]) => {
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
const SMALLEST: Readonly<Record<string, string>> = {
  'bench:brokerage': '--system percolator --days 1',
  'bench:crawl-rate': '--rates 100',
  'bench:micro': '--repeats 1 --concurrency 1 --store embedded --processes 1',
  'bench:notify-latency': '--rates 5',
  'bench:oracle': '--clients 1 --callers 1',
  'bench:scanners': '--scanners 1',
};

for (const [script, words] of Object.entries(SMALLEST)) {
  test(`the plan of ${script} ${words} counts one of a thing in the singular`, async () => {
    const program = pathToFileURL(path.join(ROOT, (scripts[script] ?? '').replace('node ', '')));
    const smoke = ['--profile', 'smoke', ...words.split(' ')];
    const { stderr } = await interruptScript(program, smoke, 'Plan: ');
    const [plan = ''] = /^Plan: .*$/m.exec(stderr) ?? [stderr];
    assert.match(plan, /\b(?:1|one) [a-z]{2,}/); // Otherwise the options count nothing.
    assert.doesNotMatch(plan, /\b1 (?:[a-z]+ )?[a-z]+[^s\W]s\b/);
  });
}
