/** bench:batching and tune at small sizes; bench:batching with bad input, tune interrupted. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { DEFAULTS } from './tuned-workloads.ts';
import { parseCommandLine } from '../../harness/command-line/command-line.ts';
import { asConfig, ENGINE_OPTIONS } from '../../harness/engine-settings.ts';
import { interruptScript } from '../../harness/testing/run-script.ts';

interface EndedProgram {
  readonly exitCode?: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, ...options: string[]): Promise<EndedProgram> {
  return execaNode(path.join(import.meta.dirname, program), options, { reject: false });
}

describe('bench:batching', () => {
  test('counts RPCs, and reports whether prefetching saves nine reads of ten', async () => {
    const folder = temporaryFolder();
    const out = path.join(folder, 'run');
    const small = ['--documents', '60', '--transactions', '300', '--repository', '100'];
    const rest = ['--repeats', '1', '--round-trip', '0', '--concurrency', '8', '--out', out];
    const config = path.join(folder, 'config.json');
    await writeFile(config, JSON.stringify(asConfig({ ...DEFAULTS, batchRows: 128 })));
    const all = [...small, ...rest, '--config', config];
    const { exitCode, stdout, stderr } = await run('../../bench/batching/main.ts', ...all);
    assert.equal(exitCode, 0, stderr);
    const reading = stdout.slice(stdout.indexOf('Reading ten columns of a row:'));
    assert.match(reading, /^ +variant +off +prefetch +batching +both +both, public API$/m);
    // Without prefetching each column is a read; with it, ten are one.
    assert.match(reading, /^ +operations +10 +1(?:\.\d+)? /m);
    assert.match(reading, /^ +of reads +10 +1(?:\.\d+)? /m);
    assert.match(reading, /^ +of conditional mutations +0 +0 +0 +0 +0$/m);
    assert.match(reading, /^ +(?:met|NOT met) +read RPCs saved by prefetching: .*at least 10/m);
    const record = JSON.parse(await readFile(path.join(out, 'run.json'), 'utf8')) as {
      state: string;
      parameters: Record<string, unknown>;
      findings: { tables: { rows: unknown[] }[] };
    };
    assert.equal(record.state, 'finished');
    assert.equal(record.parameters['batchRows'], 128);
    assert.match(stderr, /without effect here: batching, prefetch, scanners\.$/m);
    assert.deepEqual(
      record.findings.tables.map(({ rows }) => rows.length),
      [5, 5],
    );
  });

  test('answers a wrong option with one sentence', async () => {
    const { exitCode, stderr } = await run('../../bench/batching/main.ts', '--batch-rows', '0');
    assert.equal(exitCode, 2);
    assert.match(stderr, /^--batch-rows must be a whole number .*\.$/);
  });
});

describe('tune', () => {
  for (const workload of ['crawl-rate', 'micro']) {
    test(`recommends settings for ${workload}, in a file that scripts accept`, async () => {
      const folder = temporaryFolder();
      const out = path.join(folder, 'run');
      const small = ['--seconds', '5', '--candidates', '3', '--repeats', '3', '--size', '100'];
      const rest = ['--workload', workload, '--concurrency', '8', '--out', out];
      const { exitCode, stdout, stderr } = await run('main.ts', ...small, ...rest);
      assert.equal(exitCode, 0, stderr);
      assert.match(stdout, / Recommended: .*scanner.*, as in config\.json\.$/m);
      assert.match(stdout, /Keep the defaults|The best candidate reached/);
      const file = path.join(out, 'config.json');
      const config = JSON.parse(await readFile(file, 'utf8')) as object;
      const names = ['batching', 'batch-delay', 'batch-rows', 'batch-in-flight', 'prefetch'];
      assert.deepEqual(Object.keys(config), [...names, 'scanners']);
      const script = { script: 'sample', description: '', options: ENGINE_OPTIONS, examples: [] };
      const accepted = parseCommandLine(script, ['--config', file]);
      assert.ok(accepted !== null);
      assert.deepEqual(asConfig(accepted), config);
    });
  }

  test('is recorded as interrupted, and leaves neither a database nor settings', async () => {
    const main = new URL('main.ts', import.meta.url);
    const { exitCode, record, out } = await interruptScript(main, ['--seconds', '60'], 'trying');
    assert.equal(exitCode, 130);
    assert.equal(record().state, 'interrupted');
    for (const name of ['work', 'config.json']) assert.ok(!existsSync(path.join(out, name)), name);
  });
});
