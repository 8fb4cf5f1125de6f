/**
 * `percolator` as its users run it: from the packed tarball, in a folder outside this repository,
 * each part a process of its own, on this Node and on the oldest that the package allows.
 *
 * The packages that it depends on are links to those of this repository, so no registry is needed;
 * Node 22 comes from one, and without it that half is skipped.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { test, type TestContext } from 'node:test';
import { execa } from 'execa';
import { temporaryFolder, until } from '#engine/testing';

const MODULES = path.resolve(import.meta.dirname, '../../../node_modules');
const OLDEST = 'node@22.13.0';

/**
 * Runs for rows that begin with "held" say so by a file, and wait for another one; for "stuck" they
 * never end.
 */
const OBSERVERS = `
import { existsSync, writeFileSync } from 'node:fs';
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default async (percolator) => {
  await percolator.snapshot().then((snapshot) => snapshot.close());
  const run = async (transaction, cell) => {
    const value = new TextDecoder().decode(await transaction.get(cell));
    if (cell.row.startsWith('held')) {
      writeFileSync('began-' + cell.row, '');
      while (!existsSync('go-on')) await rest(10);
    }
    if (cell.row.startsWith('stuck')) await rest(1e6);
    if (cell.row.startsWith('bad')) throw new Error('cannot take ' + value);
    transaction.set({ ...cell, column: 'length' }, String(value.length));
  };
  return [{ name: 'length', table: 'pages', column: 'content', run }];
};`;

/** Writes rows, and waits until their observers have run. */
const CLIENT = `
import { connectPercolator } from 'percolator-engine/host';
const [, , ...rows] = process.argv;
const percolator = await connectPercolator();
for (const row of rows) {
  await percolator.transact(async (transaction) => {
    transaction.set({ table: 'pages', row, column: 'content' }, 'secret of ' + row);
  });
}
for (const row of process.env.WATCH === 'no' ? [] : rows) {
  for (;;) {
    const snapshot = await percolator.snapshot();
    const length = await snapshot.get({ table: 'pages', row, column: 'length' });
    await snapshot.close();
    if (length !== undefined) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
await percolator.close();
console.log('seen', rows.join());`;

/** @param tarballOf resolves to the path of the packed engine */
export function claimHosts(tarballOf: () => Promise<string>): void {
  test('the packed program runs a database on this Node', async (t) => {
    const host = await install(await tarballOf(), process.execPath);
    await runDatabase(t, host, refuseMistakes);
  });

  test('the packed program runs a database on the oldest Node', async (t) => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'package.json'), '{ "private": true }');
    const words = ['install', '--no-audit', '--no-fund', '--prefer-offline', OLDEST];
    const { exitCode } = await execa('npm', words, { cwd: folder, reject: false });
    const node = path.join(folder, 'node_modules/.bin/node');
    if (exitCode !== 0 || !existsSync(node)) return t.skip(`npm brings no ${OLDEST}`);
    await runDatabase(t, await install(await tarballOf(), node));
    return undefined;
  });
}

/** @param last is done before the last of its oracles ends */
async function runDatabase(
  t: TestContext,
  host: Host,
  last: (host: Host) => Promise<void> = async () => {},
): Promise<void> {
  const [oracleA, oracleB, locksA, locksB] = await freeAddresses(4);
  host.write('percolator.json', {
    $schema: './node_modules/percolator-engine/percolator.schema.json',
    store: 'data',
    oracles: [oracleA, oracleB],
    lockServices: [locksA, locksB],
  });
  writeFileSync(path.join(host.folder, 'observers.mjs'), OBSERVERS);
  writeFileSync(path.join(host.folder, 'client.mjs'), CLIENT);
  assert.ok(
    existsSync(path.join(host.folder, 'node_modules/percolator-engine/percolator.schema.json')),
  );

  const first = host.start(t, 'oracle', '--listen', String(oracleA));
  const locks = host.start(t, 'locks', '--listen', String(locksA));
  host.start(t, 'locks', '--listen', String(locksB));
  await host.run(0, 'wait', '--for', 'ready', '--timeout-seconds', '120');
  const second = host.start(t, 'oracle', '--listen', String(oracleB), '--log-form', 'json');
  await second.says('listens');
  await host.run(0, 'tables', 'create', 'pages', '--observed', 'content');
  assert.equal((await host.run(0, 'tables')).stdout, 'pages  observed: content');
  const worker = host.start(t, 'worker', '--observers', 'observers.mjs');
  const collector = host.start(t, 'collector');
  assert.equal((await host.client('a', 'b')).stdout, 'seen a,b');
  await host.run(0, 'wait', '--timeout-seconds', '60');
  assert.equal((await host.run(0, 'get', 'pages', 'a', 'length')).stdout, '11');
  assert.equal(
    (await host.run(0, 'scan', 'pages', '--columns', 'length')).stdout,
    'a\tlength\t11\nb\tlength\t11',
  );
  const empty = await host.run(1, 'get', 'pages', 'a', 'nothing');
  assert.equal(empty.stderr, 'percolator get: the cell has no value.');

  const both = [
    [1, 0],
    ['leads', 'stands by'],
    [true, true],
  ];
  await host.until(async () => isDeepStrictEqual(await statesOn(host), both));

  // The leader hands its lease over, and a lock service is killed: work goes on.
  locks.child.kill('SIGKILL');
  assert.equal(await first.end('SIGTERM'), 0);
  assert.equal((await host.client('c')).stdout, 'seen c');
  const one = [
    [1, 0],
    ['does not answer', 'leads'],
    [false, true],
  ];
  await second.says('"event":"leads"');
  await host.until(async () => isDeepStrictEqual(await statesOn(host), one));

  await drain(host, worker);
  assert.equal(await collector.end('SIGINT'), 0);
  await cutOff(t, host);
  const late = await host.run(1, 'wait', '--timeout-seconds', '0');
  assert.match(
    late.stderr,
    /^percolator wait: not idle after 0 seconds: \d notifications wait in table pages\.$/,
  );
  assert.match((await host.run(0, 'fsck')).stdout, /^Audited 1 table, /);
  await last(host);
  assert.equal(await second.end('SIGTERM'), 0);
}

async function statesOn(host: Host): Promise<readonly unknown[]> {
  const status = JSON.parse((await host.run(0, 'status', '--json')).stdout) as ShownStatus;
  return [
    [status.workers, status.tables[0]?.waiting.count],
    status.oracles.map(({ state }) => state),
    status.lockServices.map(({ answers }) => answers),
  ];
}

/** Runs in flight end before their worker does. */
async function drain(host: Host, worker: Started): Promise<void> {
  const held = ['held', 'held-too'];
  await host.unwatchedClient(...held);
  await host.until(async () => held.every((row) => host.has(`began-${row}`)));
  const ending = worker.end('SIGTERM');
  await worker.says('drain');
  assert.equal(worker.child.exitCode, null);
  host.write('go-on', {});
  assert.equal(await ending, 0);
  for (const row of held) {
    const { stdout } = await host.run(0, 'get', 'pages', row, 'length');
    assert.equal(Number(stdout), `secret of ${row}`.length);
  }
  worker.isSilentAbout('secret', 'held', 'cannot take');
}

/** A run that hangs is cut off. */
async function cutOff(t: TestContext, host: Host): Promise<void> {
  const stuck = host.start(t, 'worker', '--observers', 'observers.mjs', '--drain-seconds', '1');
  await stuck.says('works');
  await host.unwatchedClient('stuck', 'bad');
  await stuck.says('parked');
  assert.match((await host.run(0, 'parked')).stdout, /cannot take secret of bad/);
  assert.equal(await stuck.end('SIGTERM'), 1);
  await stuck.says('drain-late');
  stuck.isSilentAbout('secret', 'cannot take');
  assert.equal(
    (await host.run(0, 'parked', 'pages', 'bad', '--replay')).stdout,
    '1 cell is dirty again.',
  );
}

interface ShownStatus {
  readonly oracles: readonly { readonly state: string }[];
  readonly lockServices: readonly { readonly answers: boolean }[];
  readonly workers: number;
  readonly tables: readonly { readonly waiting: { readonly count: number } }[];
}

/** Each in one sentence, with exit code 2. */
async function refuseMistakes(host: Host): Promise<void> {
  writeFileSync(path.join(host.folder, 'empty.mjs'), 'export default [];');
  writeFileSync(path.join(host.folder, 'none.mjs'), 'export const observers = [];');
  writeFileSync(path.join(host.folder, 'broken.mjs'), 'export default [');
  const mistakes: readonly (readonly [words: readonly string[], sentence: RegExp])[] = [
    [['worker'], /^percolator worker: --observers <file> must be given\.$/],
    [
      ['worker', '--observers', 'x.mjs'],
      /^percolator worker: --observers x\.mjs does not exist\.$/,
    ],
    [
      ['worker', '--observers', 'empty.mjs'],
      /^percolator worker: --observers empty\.mjs has no observer in its list\.$/,
    ],
    [
      ['worker', '--observers', 'none.mjs'],
      /^percolator worker: --observers none\.mjs must export by default a list of observers, or a function that returns one\.$/,
    ],
    [
      ['worker', '--observers', 'broken.mjs'],
      /^percolator worker: --observers broken\.mjs cannot be loaded: .+\.$/,
    ],
    [
      ['oracle'],
      /^percolator oracle: oracles names several addresses of this machine \(.+\): choose one with --listen\.$/,
    ],
    [
      ['locks', '--lock-services', '203.0.113.9:7452'],
      /^percolator locks: none of lockServices \(203\.0\.113\.9:7452\) is an address of this machine: give --listen host:port, on port 7452 for example\.$/,
    ],
    [
      ['locks', '--listen', '0.0.0.0:7452'],
      /^percolator locks: cannot serve at 0\.0\.0\.0:7452 without .+\.$/,
    ],
    [
      ['status', '--config', 'no.json'],
      /^percolator status: the configuration no\.json does not exist\.$/,
    ],
    [
      ['status', '--tls-key', 'k'],
      /^percolator status: tls needs authority, certificate and key, but tls\.authority is missing: .+\.$/,
    ],
    [
      ['get', 'pages', 'a', 'length', '--store', 'elsewhere'],
      /^percolator get: the store .*elsewhere does not exist: percolator tables create makes it\.$/,
    ],
    [
      ['tables', 'drop', 'pages'],
      /^percolator tables: all that is in table pages is lost with it: give --yes\.$/,
    ],
    [['oracel'], /^percolator: there is no command oracel; the nearest is oracle; .+\.$/],
  ];
  for (const [words, sentence] of mistakes) {
    const { stderr, stdout } = await host.run(2, ...words);
    assert.match(stderr, sentence, words.join(' '));
    assert.equal(stdout, '');
  }
}

/** A process that was started, with all that it has said. */
class Started {
  readonly child: ChildProcess;
  #said = '';
  readonly #ended: Promise<unknown>;

  constructor(t: TestContext, child: ChildProcess) {
    this.child = child;
    this.#ended = once(child, 'close');
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (text: Buffer) => (this.#said += String(text)));
    }
    t.after(async () => {
      child.kill('SIGKILL');
      await this.#ended;
    });
  }

  async says(text: string): Promise<void> {
    await until(() => this.#said.includes(text) || this.child.exitCode !== null);
    assert.ok(this.#said.includes(text), `${text} in: ${this.#said}`);
  }

  isSilentAbout(...texts: readonly string[]): void {
    for (const text of texts) assert.ok(!this.#said.includes(text), this.#said);
  }

  /** Resolves to the exit code. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.child.kill(signal);
    await this.#ended;
    return this.child.exitCode;
  }
}

/** A folder with the package in it. */
class Host {
  readonly folder: string;
  readonly #node: string;
  readonly #program: string;

  constructor(folder: string, node: string, program: string) {
    this.folder = folder;
    this.#node = node;
    this.#program = program;
  }

  write(name: string, content: object): void {
    writeFileSync(path.join(this.folder, name), JSON.stringify(content));
  }

  has(name: string): boolean {
    return existsSync(path.join(this.folder, name));
  }

  start(t: TestContext, ...words: readonly string[]): Started {
    return new Started(t, spawn(this.#node, [this.#program, ...words], { cwd: this.folder }));
  }

  async run(code: number, ...words: readonly string[]): Promise<Text> {
    const ended = await this.#execute(this.#program, words);
    assert.equal(ended.exitCode, code, `${words.join(' ')}: ${ended.stdout} ${ended.stderr}`);
    return ended;
  }

  client(...rows: readonly string[]): Promise<Text> {
    return this.#execute('client.mjs', rows);
  }

  /** Does not wait for the observers. */
  unwatchedClient(...rows: readonly string[]): Promise<Text> {
    return this.#execute('client.mjs', rows, { WATCH: 'no' });
  }

  async until(isSo: () => Promise<boolean>): Promise<void> {
    await until(isSo);
  }

  async #execute(
    program: string,
    words: readonly string[],
    env: Record<string, string> = {},
  ): Promise<Text> {
    const options = { cwd: this.folder, env, reject: false } as const;
    const { exitCode, stdout, stderr } = await execa(this.#node, [program, ...words], options);
    // Node 22 calls SQLite experimental, in two lines.
    return { exitCode, stdout, stderr: stderr.replaceAll(/^\((?:node:|Use `node).*\n?/gm, '') };
  }
}

interface Text {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

async function install(tarball: string, node: string): Promise<Host> {
  const folder = temporaryFolder();
  const installed = path.join(folder, 'node_modules/percolator-engine');
  mkdirSync(installed, { recursive: true });
  await execa('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  const { bin, dependencies, peerDependencies } = JSON.parse(
    readFileSync(path.join(installed, 'package.json'), 'utf8'),
  ) as {
    readonly bin: { readonly percolator: string };
    readonly dependencies: object;
    readonly peerDependencies?: object;
  };
  for (const name of Object.keys({ ...dependencies, ...peerDependencies })) {
    const link = path.join(folder, 'node_modules', name);
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(path.join(MODULES, name), link);
  }
  return new Host(folder, node, path.join(installed, bin.percolator));
}

/** Different ones, because all are taken before the first is free again. */
async function freeAddresses(count: number): Promise<readonly string[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const addresses = servers.map((server) => `127.0.0.1:${(server.address() as AddressInfo).port}`);
  await Promise.all(servers.map(async (server) => once(server.close(), 'close')));
  return addresses;
}
