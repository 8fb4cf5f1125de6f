/** The command that a page prints runs on the reader's machine, into a new folder. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import packageJson from '../../../package.json' with { type: 'json' };
import { repeatCommand } from './repeat-command.ts';

test('a run is repeated by run.sh, without the folder of the first run', () => {
  const commands = {
    './run.sh bench:brokerage --out results/runs/record --paced':
      './run.sh bench:brokerage --paced',
    'node workloads/brokerage/main.ts --out results/runs/record': './run.sh bench:brokerage',
    'node workloads/crawl-rate/main.ts --profile standard --out=x --rates 1,10':
      './run.sh bench:crawl-rate --profile standard --rates 1,10',
    [String.raw`node workloads/bench/oracle/main.ts --out 'a b'\''c' --clients 1`]:
      './run.sh bench:oracle --clients 1',
    "node ../project/workloads/tools/tune/main.ts --config 'a b.json'":
      "./run.sh tune --config 'a b.json'",
  };
  for (const [commandLine, expected] of Object.entries(commands)) {
    const experiment = /(brokerage|crawl-rate|oracle|tune)/.exec(commandLine)?.[0] ?? '';
    assert.equal(repeatCommand({ experiment, commandLine }), expected);
  }
});

test('a record made before its program moved is repeated by its experiment', () => {
  const commandLine = 'node workloads/oracle/main.ts --clients 1';
  const command = repeatCommand({ experiment: 'oracle', commandLine });
  assert.equal(command, './run.sh bench:oracle --clients 1');
  assert.ok('bench:oracle' in packageJson.scripts);
});
