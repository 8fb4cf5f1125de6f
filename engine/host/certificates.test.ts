/** The claims of certificates: others accept them, keys stay secret, and nothing is overwritten. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../base/index.ts';
import { createAuthority, issueCertificate } from './certificates.ts';
import { parseCommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { writeCertificates } from './write-certificates.ts';

const NOW_MS = systemClock.wallMs();

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('a certificate says who it is, where it serves, what for and how long', () => {
  const authority = createAuthority({ nowMs: NOW_MS });
  const hosts = ['oracle-1.example', '10.0.0.7', '2001:db8::5', '::ffff:1.2.3.4'];
  const options = { name: 'oracle 1', role: 'admin', hosts, days: 30, nowMs: NOW_MS } as const;
  const { certificate, key } = issueCertificate(authority, options);
  const read = new X509Certificate(certificate);
  const root = new X509Certificate(authority.certificate);
  assert.equal(read.subject, 'OU=admin\nCN=oracle 1');
  assert.ok(read.checkIssued(root));
  assert.ok(read.verify(root.publicKey));
  assert.ok(root.verify(root.publicKey));
  assert.equal(root.ca, true);
  assert.equal(read.ca, false);
  assert.equal(read.checkHost('oracle-1.example'), 'oracle-1.example');
  assert.equal(read.checkHost('oracle-2.example'), undefined);
  for (const ip of hosts.slice(1)) assert.equal(read.checkIP(ip), ip);
  assert.equal(read.checkIP('10.0.0.8'), undefined);
  assert.equal(read.validToDate.getTime(), Math.floor(NOW_MS / 1_000) * 1_000 + 30 * 86_400_000);
  assert.match(String(Buffer.from(key)), /^-----BEGIN PRIVATE KEY-----/);
  const { certificate: ofClient } = issueCertificate(authority, { ...options, hosts: [] });
  assert.deepEqual(new X509Certificate(ofClient).keyUsage, ['1.3.6.1.5.5.7.3.2']);
});

test('dates from 2050 on are right, too', () => {
  const authority = createAuthority({ nowMs: NOW_MS, days: 20_000 });
  const read = new X509Certificate(authority.certificate);
  assert.equal(
    read.validToDate.getTime(),
    Math.floor(NOW_MS / 1_000) * 1_000 + 20_000 * 86_400_000,
  );
});

for (const [wrong, message] of [
  [{ hosts: ['a:7701'] }, 'hosts must be names or IP addresses without a port, not "a:7701"'],
  [{ name: '' }, /^name must be a text of 1 to 64 characters/],
  [{ days: 0 }, /^days must be a finite number above 0/],
] as const) {
  test(`refused: ${JSON.stringify(wrong)}`, () => {
    const authority = createAuthority({ nowMs: NOW_MS });
    const options = { name: 'x', role: 'worker', nowMs: NOW_MS, ...wrong } as const;
    assert.throws(() => issueCertificate(authority, options), {
      code: 'INVALID_ARGUMENT',
      message,
    });
  });
}

test('a folder of them: keys for their owner alone, one authority, nothing overwritten unless forced', async (t) => {
  const folder = join(folderOf(t), 'tls');
  const oracle = { name: 'oracle-1', hosts: ['oracle-1.example'] };
  const certificates = [oracle, { name: 'operator', role: 'admin' as const }];
  const written = await writeCertificates({ folder, certificates, nowMs: NOW_MS });
  assert.deepEqual([...written].toSorted(), readdirSync(folder).toSorted());
  for (const file of written) {
    const mode = statSync(join(folder, file)).mode & 0o777;
    assert.equal(mode, file.endsWith('.key') ? 0o600 : 0o644, file);
  }
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const before = written.map(read);
  const again = { folder, certificates: [{ name: 'worker-1' }, oracle], nowMs: NOW_MS };
  await assert.rejects(writeCertificates(again), {
    code: 'INVALID_ARGUMENT',
    message: /oracle-1\.pem is there already: name another folder, or give --force to replace it$/,
  });
  assert.deepEqual(written.map(read), before);
  assert.equal(readdirSync(folder).length, written.length, 'not even that of worker-1 was written');
  const replaced = await writeCertificates({ ...again, force: true });
  assert.deepEqual(replaced, ['worker-1.key', 'worker-1.pem', 'oracle-1.key', 'oracle-1.pem']);
  const authority = new X509Certificate(read('authority.pem'));
  assert.ok(new X509Certificate(read('oracle-1.pem')).verify(authority.publicKey));
  assert.notEqual(read('oracle-1.pem'), before[written.indexOf('oracle-1.pem')]);
});

test('half an authority, a name that leads elsewhere and a bad role are refused, and write nothing', async (t) => {
  const folder = folderOf(t);
  for (const name of ['../x', 'authority', '', '.hidden', 'a b']) {
    const asked = writeCertificates({ folder, certificates: [{ name }], nowMs: NOW_MS });
    await assert.rejects(asked, {
      code: 'INVALID_ARGUMENT',
      message: /^a certificate must have a name/,
    });
  }
  const certificates = [{ name: 'x', role: 'owner' as 'worker' }];
  await assert.rejects(
    writeCertificates({ folder, certificates, nowMs: NOW_MS }),
    /^.*role must be/,
  );
  assert.deepEqual(readdirSync(folder), []);
  writeFileSync(join(folder, 'authority.pem'), 'x');
  const asked = writeCertificates({ folder, certificates: [{ name: 'x' }], nowMs: NOW_MS });
  await assert.rejects(asked, { code: 'INVALID_ARGUMENT', message: /authority\.key is missing/ });
  assert.deepEqual(readdirSync(folder), ['authority.pem']);
});

test('what cannot be written is told in a sentence, and no file is left of it', async (t) => {
  const folder = folderOf(t);
  const certificates = [{ name: 'x' }];
  writeFileSync(join(folder, 'file'), '');
  await assert.rejects(
    writeCertificates({ folder: join(folder, 'file', 'tls'), certificates, nowMs: NOW_MS }),
    { code: 'INVALID_ARGUMENT', message: /tls cannot be used as a folder \(ENOTDIR\)$/ },
  );
  await assert.rejects(
    writeCertificates({ folder: join(folder, 'file'), certificates, nowMs: NOW_MS }),
    { code: 'INVALID_ARGUMENT', message: /file cannot be used as a folder \(EEXIST\)$/ },
  );
  mkdirSync(join(folder, 'x.pem')); // A file cannot take its place.
  await assert.rejects(writeCertificates({ folder, certificates, nowMs: NOW_MS, force: true }), {
    code: 'INVALID_ARGUMENT',
    message: /x\.pem is a folder: remove it$/,
  });
  assert.deepEqual(readdirSync(folder).toSorted(), ['file', 'x.pem']);
  mkdirSync(join(folder, 'y.pem.new'));
  const asked = writeCertificates({ folder, certificates: [{ name: 'y' }], nowMs: NOW_MS });
  await assert.rejects(asked, {
    code: 'INVALID_ARGUMENT',
    message: /y\.pem cannot be written \(\w+\)$/,
  });
  assert.deepEqual(readdirSync(folder).toSorted(), ['file', 'x.pem', 'y.pem.new']);
});

test('an authority that is damaged, or whose files are of two authorities, signs nothing', async (t) => {
  const folder = folderOf(t);
  const other = join(folder, 'other');
  const asked = (): Promise<unknown> =>
    writeCertificates({ folder, certificates: [{ name: 'x' }], nowMs: NOW_MS });
  await writeCertificates({ folder, certificates: [], nowMs: NOW_MS });
  await writeCertificates({ folder: other, certificates: [], nowMs: NOW_MS });
  const good = readFileSync(join(folder, 'authority.pem'), 'utf8');
  for (const [text, message] of [
    ['x', /authority\.pem holds no certificate in PEM$/],
    [good.slice(0, 200), /authority\.pem holds a certificate, number 1, that cannot be read$/],
  ] as const) {
    writeFileSync(join(folder, 'authority.pem'), text);
    await assert.rejects(asked(), { code: 'INVALID_ARGUMENT', message });
  }
  writeFileSync(join(folder, 'authority.pem'), good);
  copyFileSync(join(other, 'authority.key'), join(folder, 'authority.key'));
  const message = /authority\.key is not the key of \S+authority\.pem$/;
  await assert.rejects(asked(), { code: 'INVALID_ARGUMENT', message });
  writeFileSync(join(folder, 'authority.key'), 'x');
  const noKey = /authority\.key holds no private key in PEM without a password$/;
  await assert.rejects(asked(), { code: 'INVALID_ARGUMENT', message: noKey });
  assert.deepEqual(readdirSync(folder).toSorted(), ['authority.key', 'authority.pem', 'other']);
});

test('no certificate lasts longer than its authority, nor any beyond the year 9999', () => {
  const authority = createAuthority({ nowMs: NOW_MS, days: 100 });
  const of = (days: number, nowMs = NOW_MS): unknown =>
    issueCertificate(authority, { name: 'x', role: 'worker', days, nowMs });
  assert.ok(of(100));
  assert.throws(() => of(101), {
    code: 'INVALID_ARGUMENT',
    message: /^days must be at most 100, because the authority expires at \S+Z, not 101$/,
  });
  assert.throws(() => of(99_999_999_999), { code: 'INVALID_ARGUMENT' });
  assert.throws(() => of(1, NOW_MS + 100 * 86_400_000), {
    code: 'INVALID_ARGUMENT',
    message: /^the authority expires at \S+Z: make another one$/,
  });
  assert.throws(() => createAuthority({ nowMs: NOW_MS, days: 99_999_999_999 }), {
    code: 'INVALID_ARGUMENT',
    message: /^days must end before the year 10000, not 99999999999$/,
  });
});

test('parts of a day count: a certificate may last half a day, under an authority of one', () => {
  const authority = createAuthority({ nowMs: NOW_MS, days: 0.75 });
  const of = (days: number): Uint8Array =>
    issueCertificate(authority, { name: 'x', role: 'worker', days, nowMs: NOW_MS }).certificate;
  const { validToDate } = new X509Certificate(of(0.5));
  assert.equal(validToDate.getTime(), Math.floor(NOW_MS / 1_000) * 1_000 + 43_200_000);
  assert.throws(() => of(0.8), {
    code: 'INVALID_ARGUMENT',
    message: /^the authority expires at \S+Z: make another one$/,
  });
});

test('percolator certificates makes one for each call, from one authority', async (t) => {
  const folder = join(folderOf(t), 'tls');
  const command = COMMANDS.find(({ name }) => name === 'certificates');
  assert.ok(command);
  const make = (...argv: string[]): Promise<number> => {
    const given = parseCommandLine(command, argv);
    assert.ok(given !== 'help');
    return command.run(given);
  };
  const hosts = ['--hosts', 'a.example,10.0.0.1', '--role', 'collector', '--days', '30'];
  assert.equal(await make('host-1', '--folder', folder, ...hosts), 0);
  assert.equal(await make('client', '--folder', folder), 0);
  const read = (name: string): X509Certificate =>
    new X509Certificate(readFileSync(join(folder, `${name}.pem`)));
  const [host, client] = [read('host-1'), read('client')];
  assert.deepEqual(
    [host.subject, client.subject],
    ['OU=collector\nCN=host-1', 'OU=worker\nCN=client'],
  );
  assert.deepEqual(
    [host.checkHost('a.example'), host.checkIP('10.0.0.1')],
    ['a.example', '10.0.0.1'],
  );
  for (const one of [host, client]) assert.ok(one.verify(read('authority').publicKey));
  await assert.rejects(async () => make('client'), /--folder <folder> must be given/);
});
