/**
 * The emulator as a child process: found, started on a free port, and gone afterwards, however its
 * parent ends.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { findEmulator, whyNoEmulator } from './emulator.ts';
import { openRemote, startEmulator } from './index.ts';
import { until } from '../../testing/until.ts';

const FIXTURE = fileURLToPath(new URL('emulator.fixture.ts', import.meta.url));
const folder = temporaryFolder();

describe('looking for the emulator', () => {
  test('finds it on PATH', async () => {
    const program = await plant('bin', 'cbtemulator');
    const environment = { PATH: `/nowhere:${path.dirname(program)}` };
    assert.equal(await findEmulator(environment), program);
  });

  test('finds it in the SDK whose gcloud is on PATH, also through a link', async () => {
    const program = await plant('sdk', 'platform', 'bigtable-emulator', 'cbtemulator');
    const gcloud = await plant('sdk', 'bin', 'gcloud');
    assert.equal(await findEmulator({ PATH: path.dirname(gcloud) }), program);
    const links = path.join(folder, 'links');
    await mkdir(links);
    await symlink(gcloud, path.join(links, 'gcloud'));
    assert.equal(await findEmulator({ PATH: links }), program);
  });

  test('finds it in CLOUDSDK_ROOT_DIR and in the home folder', async () => {
    const inHome = await plant(
      'user',
      'google-cloud-sdk',
      'platform',
      'bigtable-emulator',
      'cbtemulator',
    );
    assert.equal(await findEmulator({ HOME: path.join(folder, 'user') }), inHome);
    const named = await plant('named', 'platform', 'bigtable-emulator', 'cbtemulator');
    const environment = {
      HOME: path.join(folder, 'user'),
      CLOUDSDK_ROOT_DIR: path.join(folder, 'named'),
    };
    assert.equal(await findEmulator(environment), named);
  });

  test('does not look in the working directory if the variables are empty', async () => {
    const inSdk = ['platform', 'bigtable-emulator', 'cbtemulator'];
    await plant('work', ...inSdk);
    await plant('work', 'google-cloud-sdk', ...inSdk);
    await plant('work', 'cbtemulator');
    const before = process.cwd();
    process.chdir(path.join(folder, 'work'));
    try {
      const found = await findEmulator({ PATH: '', CLOUDSDK_ROOT_DIR: '', HOME: '' });
      assert.ok(found === undefined || path.isAbsolute(found), found);
      const why = await whyNoEmulator({ PATH: '', CLOUDSDK_ROOT_DIR: '', HOME: '' });
      assert.equal(why !== undefined && /neither on PATH nor/.test(why), found === undefined);
    } finally {
      process.chdir(before);
    }
  });

  test('does not take a file that cannot be run', async () => {
    const program = await plant('data', 'cbtemulator');
    await chmod(program, 0o644);
    assert.notEqual(await findEmulator({ PATH: path.dirname(program) }), program);
  });

  test('does not take a folder that has the name of the program', async () => {
    const named = path.join(folder, 'source', 'cbtemulator');
    await mkdir(named, { recursive: true });
    assert.notEqual(await findEmulator({ PATH: path.dirname(named) }), named);
  });
});

describe('a program that does not start', () => {
  test('is reported with its output', async () => {
    const program = await plant('broken', 'cbtemulator');
    await writeFile(program, '#!/bin/sh\necho cannot listen >&2\nexit 1\n');
    await assert.rejects(startEmulator({ environment: { PATH: path.dirname(program) } }), {
      code: 'STORE_UNAVAILABLE',
      message: /the Bigtable emulator did not start: cannot listen/,
    });
  });

  test('and prints nothing is reported with its exit code', async () => {
    const program = await plant('silent', 'cbtemulator');
    await writeFile(program, '#!/bin/sh\nexit 3\n');
    await assert.rejects(startEmulator({ environment: { PATH: path.dirname(program) } }), {
      code: 'STORE_UNAVAILABLE',
      message: /did not start: it ended with exit code 3, without a word/,
    });
  });
});

describe('a program that has started', () => {
  test('may print more than we keep', async () => {
    const program = await plant('talking', 'cbtemulator');
    const done = path.join(folder, 'talking', 'done');
    const lines = 'yes | head -n 1000000';
    await writeFile(
      program,
      `#!/bin/sh\necho running on 127.0.0.1:1\n${lines}\n${lines} >&2\ntouch ${done}\nexec sleep 60\n`,
    );
    const PATH = `${path.dirname(program)}:${process.env['PATH']}`;
    await using emulator = await startEmulator({ environment: { PATH } });
    assert.equal(emulator.address, '127.0.0.1:1');
    await until(() => existsSync(done));
  });
});

const isThere = (await findEmulator(process.env)) !== undefined;

describe('the official emulator', { skip: isThere ? false : 'no emulator found' }, () => {
  test('runs until it is stopped, while a second one goes on', async () => {
    const first = await startEmulator({ environment: process.env });
    await using second = await startEmulator({ environment: process.env });
    assert.notEqual(first.address, second.address);
    await using store = await openRemote({
      project: 'p',
      instance: 'i',
      plainAddress: first.address,
    });
    assert.deepEqual(await store.listTables(), []);
    await first.stop();
    await first.stop();
    assert.equal(await answers(first.address), false);
    assert.equal(await answers(second.address), true);
  });

  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    test(`ends with a parent that is ended by ${signal}`, async () => {
      const owner = execa(process.execPath, [FIXTURE], { reject: false });
      const address = await firstLine(owner.stdout);
      assert.equal(await answers(address), true);
      owner.kill(signal);
      await owner;
      await until(async () => !(await answers(address)));
    });
  }
});

/** Creates an empty program in a folder of the test's own. */
async function plant(...names: readonly string[]): Promise<string> {
  const file = path.join(folder, ...names);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, '#!/bin/sh\n');
  await chmod(file, 0o755);
  return file;
}

/** Checks the port, not the process: an ended process exists until its current parent reaps it. */
function answers(address: string): Promise<boolean> {
  const [host = '', port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect(Number(port), host);
    const end = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.on('connect', () => end(true));
    socket.on('error', () => end(false));
  });
}

async function firstLine(output: NodeJS.ReadableStream): Promise<string> {
  for await (const text of output) return String(text).trim();
  return '';
}
