/**
 * docs/hosts.md, walked as a reader walks it: from a running HBase to three worker hosts with TLS,
 * by the commands that are on the page.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { env } from 'node:process';
import { before, describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa, execaNode } from 'execa';
import { whyNoHBase } from '#engine';
import { temporaryFolder } from '#engine/testing';
import { whyNoHosts } from '../../harness/hosts/inside.ts';
import { stepsOf } from './hosts-page.fixture.ts';
import type { Walked } from './walk.fixture.ts';

const FIXTURE = fileURLToPath(new URL('walk.fixture.ts', import.meta.url));
const PAGE = path.resolve(import.meta.dirname, '../../../docs/hosts.md');
const NODE = path.resolve(import.meta.dirname, '../../../node_modules/node/bin');
/** What npm says where it reaches no registry. */
const NO_REGISTRY = /ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTCACHED|ERR_SOCKET_TIMEOUT/;
const page = readFileSync(PAGE, 'utf8');
const skip = (await whyNoHosts()) ?? (await whyNoHBase(env)) ?? false;

/** @param tarballOf resolves to the path of the packed engine */
export function claimWalk(tarballOf: () => Promise<string>): void {
  describe('docs/hosts.md', { skip }, () => claimPage(tarballOf));
}

function claimPage(tarballOf: () => Promise<string>): void {
  const folder = temporaryFolder();
  const cache = path.join(folder, 'cache');
  let tarball = '';
  /** The end of npm, where it reaches no registry. */
  let without: string | undefined;

  before(async () => {
    tarball = await tarballOf();
    without = await fillCache();
  });

  test('leads from a running HBase to three worker hosts with TLS, by its own commands', async (t) => {
    if (isWithout(t)) return;
    const { exitCode, stdout, stderr } = await walk(page);
    assert.equal(exitCode, 0, stderr);
    const { seconds, printed, status } = JSON.parse(stdout) as Walked & { status: ShownStatus };
    assert.ok(printed.length > 0);
    for (const { said, seen } of printed) assert.equal(seen, said);
    assert.equal(status.workers, 3);
    assert.deepEqual(status.oracles.map(({ state }) => state).toSorted(), ['leads', 'stands by']);
    assert.deepEqual(
      status.lockServices.map(({ answers }) => answers),
      [true, true],
    );
    t.diagnostic(`the page's commands took ${Math.round(seconds)} s`);
  });

  test('cannot be walked if one of its commands is wrong', async (t) => {
    if (isWithout(t)) return;
    const wrong = page.replace('--role collector', '--role collecter');
    const { exitCode, stderr } = await walk(wrong, 'without-hbase');
    assert.equal(exitCode, 1);
    assert.match(stderr, /^a command failed in\n# on 10\.77\.0\.1\n/);
    assert.match(stderr, /^percolator certificates: --role must be .+, not 'collecter'\.$/m);
  });

  /** Runs the page's own npm where there is a registry; resolves to why there is none. */
  async function fillCache(): Promise<string | undefined> {
    const install = stepsOf(page)
      .flatMap((step) => (step.kind === 'run' ? step.script.split('\n') : []))
      .find((line) => line.startsWith('npm install '));
    assert.ok(install !== undefined, 'the page installs the package');
    const cwd = path.join(folder, 'install');
    mkdirSync(cwd);
    writeFileSync(path.join(cwd, path.basename(tarball)), readFileSync(tarball));
    const given = { npm_config_cache: cache, npm_config_audit: 'false', npm_config_fund: 'false' };
    const { failed, stderr } = await execa('sh', ['-c', install], {
      cwd,
      env: given,
      reject: false,
    });
    if (!failed) return undefined;
    assert.match(stderr, NO_REGISTRY);
    return `npm reaches no registry, so ${install.slice(0, 'npm install'.length)} cannot be tried`;
  }

  function isWithout(t: TestContext): boolean {
    if (without !== undefined) t.skip(without);
    return without !== undefined;
  }

  function walk(text: string, ...words: readonly string[]) {
    const file = path.join(folder, 'hosts.md');
    writeFileSync(file, text);
    const offline = { npm_config_cache: cache, npm_config_offline: 'true' };
    const quiet = { npm_config_audit: 'false', npm_config_fund: 'false' };
    const PATH = `${NODE}:${env['PATH'] ?? ''}`;
    return execaNode(FIXTURE, [file, tarball, ...words], {
      reject: false,
      env: { ...offline, ...quiet, PATH },
    });
  }
}

interface ShownStatus {
  readonly oracles: readonly { readonly state: string }[];
  readonly lockServices: readonly { readonly answers: boolean }[];
  readonly workers: number;
}
