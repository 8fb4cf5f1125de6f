/** Where the services listen, what their certificates must name, and that all of them ends. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { PercolatorError, systemClock, takeAll, type Warning } from '../base/index.ts';
import { openLeasedAllocator } from '../oracle/index.ts';
import { openPercolator } from '../percolator.ts';
import {
  createMemoryBigtable,
  FaultyBigtable,
  temporaryFolder,
  VirtualClock,
} from '../testing/index.ts';
import { createAuthority, issueCertificate } from './certificates.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import { connectPercolator, openTls } from './connect.ts';
import type { Log } from './log.ts';
import { isAtWork, type OwnMachine, ownAddress, startLocks } from './services.ts';

const SILENT: Log = { say: () => {}, warn: () => {} };

function tlsOf(hosts: readonly string[], days?: number): Readonly<Record<string, string>> {
  const folder = temporaryFolder();
  const nowMs = systemClock.wallMs();
  const made = issueCertificate(createAuthority({ nowMs }), {
    name: 'x',
    role: 'admin',
    hosts,
    days,
    nowMs,
  });
  const files = Object.entries(made).map(([name, bytes]: [string, Uint8Array]) => {
    const file = path.join(folder, name);
    writeFileSync(file, bytes);
    return [name, file] as const;
  });
  return Object.fromEntries(files);
}

function configurationOf(config: object): Configuration {
  return readConfiguration({ config, options: {}, environment: {}, folder: '/' });
}

test('a service that listens everywhere needs no certificate that names everywhere', async () => {
  const tools = { log: SILENT, telemetry: undefined };
  const configuration = configurationOf({ tls: tlsOf(['10.9.8.7']) });
  for (const listen of ['0.0.0.0:0', '[::]:0']) {
    const service = await startLocks(configuration, listen, tools);
    await service.drain();
  }
  await assert.rejects(startLocks(configuration, '127.0.0.1:0', tools), {
    code: 'INVALID_ARGUMENT',
    message: /names IP Address:10\.9\.8\.7, not 127\.0\.0\.1, at which others reach it$/,
  });
});

/** As Debian makes it. */
const MACHINE: OwnMachine = {
  name: 'host-a',
  addresses: new Set(['127.0.0.1', '10.0.0.1', '::1']),
  resolve: async (name) =>
    ({
      'host-a': ['127.0.1.1'],
      'host-a.example': ['10.0.0.1'],
      'host-b': ['10.0.0.2'],
      localhost: ['127.0.0.1'],
      '127.0.0.1': ['127.0.0.1'],
    })[name] ?? [],
};

test('a host finds its own address in the list, but none at which no other host reaches it', async () => {
  const own = (...addresses: readonly string[]): Promise<string> =>
    ownAddress('oracles', addresses, undefined, { port: 7451, machine: MACHINE });
  assert.equal(await own('host-a.example:1', 'host-b:1'), 'host-a.example:1');
  assert.equal(await own('localhost:1', 'host-b:1'), 'localhost:1');
  assert.equal(await own('127.0.0.1:1'), '127.0.0.1:1');
  await assert.rejects(own('host-a:7451', 'host-b:7451'), {
    code: 'INVALID_ARGUMENT',
    message:
      'oracles names host-a:7451, but on this machine host-a is 127.0.1.1, where no other host reaches it: give --listen 0.0.0.0:7451, or mend /etc/hosts',
  });
  await assert.rejects(own('host-b:1'), /is an address of this machine: give --listen/);
});

test('an ending takes all steps, also after one that fails, and says what failed first', async () => {
  const taken: string[] = [];
  const step = (name: string, error?: Error) => async (): Promise<void> => {
    taken.push(name);
    if (error !== undefined) throw error;
  };
  const ending = takeAll([
    step('a'),
    step('b', new Error('of b')),
    () => {
      throw new Error('of c');
    },
    step('d'),
  ]);
  await assert.rejects(ending, /of b/);
  assert.deepEqual(taken, ['a', 'b', 'd']);
});

test("a library leaves its user's signals alone, and warns of files that cannot be used", async () => {
  const folder = path.join(temporaryFolder(), 'data');
  await openPercolator({ folder }).then((percolator) => percolator.close());
  const before = process.listenerCount('SIGHUP');
  const tls = tlsOf([]);
  const warnings: string[] = [];
  const onWarning = ({ sentence }: Warning): void => void warnings.push(sentence);
  await using percolator = await connectPercolator({ config: { store: folder, tls }, onWarning });
  assert.equal(process.listenerCount('SIGHUP'), before);
  writeFileSync(tls['key'] ?? '', 'x');
  while (warnings.length === 0) await systemClock.sleep(50);
  assert.match(warnings[0] ?? '', /^the old certificates stay: tls\.key \S+ holds no private key/);
  assert.ok(percolator.counters);
});

test('the warning of files that cannot be used ends also when the former ones are back', (t) => {
  const tls = tlsOf([]);
  const warnings: string[] = [];
  const onWarning = ({ sentence, isOver }: Warning): void =>
    void warnings.push(`${isOver ? 'over: ' : ''}${sentence.slice(0, 25)}`);
  const source = openTls(configurationOf({ tls }), { onWarning, atHangup: true });
  t.after(() => source?.close());
  const file = tls['key'] ?? '';
  const key = readFileSync(file);
  for (const content of ['x', key, 'x', key]) {
    writeFileSync(file, content);
    process.emit('SIGHUP');
  }
  const refused = 'the old certificates stay';
  assert.deepEqual(warnings, [refused, `over: ${refused}`, refused, `over: ${refused}`]);
});

for (const [days, says] of [
  [0.5, 'in less than a day'],
  [3.5, 'in less than 4 days'],
] as const) {
  test(`a certificate that lasts ${days} days is said to expire ${says}`, (t) => {
    const warnings: string[] = [];
    const onWarning = ({ sentence }: Warning): void => void warnings.push(sentence);
    const source = openTls(configurationOf({ tls: tlsOf([], days) }), { onWarning });
    t.after(() => source?.close());
    assert.deepEqual(warnings, [`the certificate in use expires ${says}`]);
  });
}

test('an oracle does its work while it holds the lease, or watches another one as its store answers', async () => {
  const clock = new VirtualClock();
  const store = createMemoryBigtable();
  const given = { leaseTimeToLiveMs: 1_200 };
  const source = await openLeasedAllocator(store, clock, given);
  const client = new FaultyBigtable(store);
  const standby = await openLeasedAllocator(client, clock, given);
  const works = (): readonly boolean[] => [source, standby].map(isAtWork);
  assert.deepEqual([source.isWatching, standby.isWatching], [false, true]);
  await clock.advance(5_000);
  assert.deepEqual(works(), [true, true]);
  client.beforeCall = () => {
    throw new PercolatorError('STORE_UNAVAILABLE', 'the store is away');
  };
  await clock.advance(2_400);
  assert.deepEqual(works(), [true, false]);
  client.beforeCall = undefined;
  await clock.advance(1_200);
  assert.deepEqual(works(), [true, true]);
  await standby.close();
  assert.deepEqual(works(), [true, false]);
  await source.close();
});
