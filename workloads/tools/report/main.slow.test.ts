/** The link from the page of a run to the page of all runs is never dead, nor out of date. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { buildAll, createRun, REFERENCE_FOLDER, RUNS_FOLDER } from '#results';

const TOOLS = path.dirname(import.meta.dirname);
const RESULTS = path.dirname(RUNS_FOLDER);
const INDEX = path.join(RESULTS, 'index.html');
const LINK = '"../../index.html"';
const name = `test-of-report-${process.pid}`;
const folder = path.join(RUNS_FOLDER, name);

const wasThere = existsSync(INDEX);
after(() => {
  rmSync(folder, { recursive: true, force: true });
  if (wasThere) buildAll(RESULTS);
  else rmSync(INDEX, { force: true });
});
beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(INDEX, { force: true });
});

/** The page of a new run in this folder. */
function pageOfRun(inFolder: string): string {
  mkdirSync(inFolder, { recursive: true });
  const run = createRun(inFolder, {
    experiment: 'oracle',
    profile: 'smoke',
    commandLine: './run.sh bench:oracle',
    parameters: {},
    seed: 1,
    repeats: 1,
    store: { name: 'embedded', durability: 'each commit is on the disk' },
  });
  const check = { passed: true, detail: 'all is there' };
  const texts = { kicker: 'A bench', title: 'Rates', headline: 'A headline.' };
  run.describe({ findings: { ...texts, check, tables: [], charts: [] } });
  return readFileSync(run.finish().page, 'utf8');
}

function indexText(): string {
  return readFileSync(INDEX, 'utf8');
}

async function runTool(tool: string, ...words: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await execaNode(path.join(TOOLS, tool, 'main.ts'), words);
  assert.equal(exitCode, 0, stderr);
}

describe('the page of all runs', () => {
  test('is made with the page of a run in results/runs, which links to it', () => {
    assert.ok(pageOfRun(folder).includes(LINK));
    assert.ok(indexText().includes(`runs/${name}/report.html`));
  });

  test('is made when the page of such a run is made again', async () => {
    pageOfRun(folder);
    rmSync(INDEX);
    await runTool('report', folder);
    assert.ok(indexText().includes(`runs/${name}/report.html`));
  });

  test('is made again by `runs clean --yes`, without the runs that are gone', async () => {
    pageOfRun(folder);
    rmSync(folder, { recursive: true });
    await runTool('runs', 'clean', '--days', '36500');
    assert.ok(indexText().includes(name));
    await runTool('runs', 'clean', '--days', '36500', '--yes'); // No run is a century old.
    assert.ok(!indexText().includes(name));
  });

  test('is not linked from a run elsewhere, nor from the reference, whose pages are made with it', () => {
    assert.ok(!pageOfRun(path.join(temporaryFolder(), 'run')).includes('index.html'));
    assert.ok(!existsSync(INDEX));
    const out = temporaryFolder();
    buildAll(out);
    assert.ok(existsSync(path.join(out, 'index.html')));
    for (const figure of ['figure-7', 'figure-8', 'figure-9']) {
      const page = readFileSync(path.join(REFERENCE_FOLDER, figure, 'report.html'), 'utf8');
      assert.ok(!page.includes(LINK), figure);
    }
  });
});
