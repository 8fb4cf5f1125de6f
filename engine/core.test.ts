/**
 * The core runs without Node: it bundles for a browser, holds no store but the one in memory, and
 * a real Chromium runs the suite of the contract and a transfer on it.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { build, type BuildOptions } from 'esbuild';
import { openBrowser } from '../results/report/testing/browser.ts';
import type { PageResults } from './testing/page.fixture.ts';

const HERE = import.meta.dirname;
const PAGE_TESTS = path.join(HERE, 'testing/page-tests.fixture.ts');
const NODES_ALONE = /engine\/(?:bigtable\/(?:embedded|remote|hbase)|rpc)\/|local-processes/;
const GZIP_BYTES_MAX = 80_000;

interface Bundle {
  readonly inputs: readonly string[];
  readonly code: string;
}

/** Fails if a module of Node is imported, because a browser has none. */
async function bundled(file: string, options: BuildOptions = {}): Promise<Bundle> {
  const { metafile, outputFiles } = await build({
    entryPoints: [path.join(HERE, file)],
    absWorkingDir: path.dirname(HERE),
    bundle: true,
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
    write: false,
    metafile: true,
    minify: true,
    logLevel: 'silent',
    ...options,
  });
  return { inputs: Object.keys(metafile?.inputs ?? {}), code: outputFiles?.[0]?.text ?? '' };
}

describe('the core', () => {
  test('imports no module of Node, and no store but the one in memory', async () => {
    const { inputs, code } = await bundled('core.ts', { format: 'esm' });
    assert.deepEqual(
      inputs.filter((file) => NODES_ALONE.test(file)),
      [],
    );
    const bytes = gzipSync(code).length;
    assert.ok(code !== '' && bytes < GZIP_BYTES_MAX, `${bytes} bytes`);
  });

  test('passes the suite of the contract, and runs observers, in Chromium', async () => {
    const { code } = await bundled('testing/page.fixture.ts', {
      alias: { 'node:test': PAGE_TESTS, 'node:assert/strict': PAGE_TESTS },
    });
    await using open = await openBrowser();
    const page = await open.browser.newPage();
    await page.addScriptTag({ content: code });
    const results = await page.evaluate<PageResults>('results');
    assert.deepEqual(results.failures, []);
    assert.ok(results.passed > 60, `${results.passed} claims`);
    assert.deepEqual(results.after, ['3', '9', 'yes', 'yes']);
  });
});
