/**
 * A private authority, and the certificates that it signs: for a first cluster, and for tests.
 *
 *     authority ──signs──▶ a host's: its names, a role      serves, and connects
 *               └─signs──▶ a client's: a role               connects; no client takes it for a server
 *
 * All keys are of the curve P-256, which gRPC's implementations in every language accept. The role
 * is the subject's organizational unit (rpc/roles.ts). A certificate is a structure in DER (RFC
 * 5280); Node makes keys and signatures, and the small writer at the end all the rest.
 *
 * It is no authority for a company: it revokes nothing. Short lives and renewal take the place of
 * that: a service and its clients take up new certificates while they run.
 */
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { assert, PercolatorError } from '../base/index.ts';
import { check, type OptionRule, POSITIVE } from '../base/options.ts';
import { type Role, ROLE, type TlsIdentity } from '../rpc/index.ts';

/** Certificate and private key, in PEM. Who has the key can pass for every process. */
export interface CertificateAuthority {
  readonly certificate: string;
  readonly key: string;
}

export interface AuthorityOptions {
  /** The authority's name in messages. Default `percolator`. */
  readonly name?: string | undefined;
  /** Days until it expires. Default 3,650. Too few: all certificates must be made anew with it. */
  readonly days?: number | undefined;
  /** The time now, in milliseconds since 1970. */
  readonly nowMs: number;
}

export interface CertificateOptions {
  /** Who it is, as messages name it: a host, or a client. */
  readonly name: string;
  readonly role: Role;
  /**
   * The names and IP addresses at which it serves. Default none: a client's, with which no server
   * can be impersonated.
   */
  readonly hosts?: readonly string[] | undefined;
  /**
   * Days until it expires, which must not be after its authority. Default 90. Too few: services
   * stop before it is renewed. Too many: one that was stolen is of use for that long.
   */
  readonly days?: number | undefined;
  /** The time now, in milliseconds since 1970. */
  readonly nowMs: number;
}

const AUTHORITY_DAYS = 3_650;
const CERTIFICATE_DAYS = 90;
const DAY_MS = 86_400_000;
/** Years in certificates have four digits. */
const END_MS = Date.UTC(9999, 11, 31);
/** Clocks of other hosts may be slow. */
const EARLIER_MS = 3_600_000;
/** Longer ones are not allowed in a subject (RFC 5280, ub-common-name). */
const SUBJECT: OptionRule = {
  expected: 'a text of 1 to 64 characters',
  accepts: (value) => typeof value === 'string' && value.length > 0 && value.length <= 64,
};
const HOST = /^(?!.*\.\.)[a-z0-9*][a-z0-9.-]*$/i;

/** @throws INVALID_ARGUMENT for a wrong option */
export function createAuthority(options: AuthorityOptions): CertificateAuthority {
  const { name = 'percolator', days = AUTHORITY_DAYS, nowMs } = options;
  check('name', name, SUBJECT);
  check('days', days, POSITIVE);
  if (nowMs + days * DAY_MS > END_MS) {
    const message = `days must end before the year 10000, not ${days}`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const subject = nameOf([[COMMON_NAME, name]]);
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const certificate = certificateOf({
    issuer: subject,
    subject,
    spki,
    untilMs: nowMs + days * DAY_MS,
    nowMs,
    signingKey: key,
    extensions: [
      extension(BASIC_CONSTRAINTS, sequence(TRUE, integer(Buffer.from([0]))), true),
      // keyCertSign and cRLSign.
      extension(KEY_USAGE, Buffer.from([0x03, 0x02, 0x01, 0x06]), true),
      extension(SUBJECT_KEY, octets(keyNumber(spki))),
    ],
  });
  return { certificate, key };
}

/** @throws INVALID_ARGUMENT for a wrong option */
export function issueCertificate(
  authority: CertificateAuthority,
  options: CertificateOptions,
): TlsIdentity {
  const { name, role, hosts = [], days = CERTIFICATE_DAYS, nowMs } = options;
  check('name', name, SUBJECT);
  check('role', role, ROLE);
  check('days', days, POSITIVE);
  checkEnd(authority, days, nowMs);
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const { subject: issuer, spki: issuerSpki } = partsOf(authority.certificate);
  const certificate = certificateOf({
    issuer,
    subject: nameOf([
      [UNIT, role],
      [COMMON_NAME, name],
    ]),
    spki,
    untilMs: nowMs + days * DAY_MS,
    nowMs,
    signingKey: authority.key,
    extensions: [
      extension(BASIC_CONSTRAINTS, sequence(), true),
      extension(KEY_USAGE, Buffer.from([0x03, 0x02, 0x07, 0x80]), true), // digitalSignature
      extension(PURPOSES, sequence(CLIENT, ...(hosts.length > 0 ? [SERVER] : []))),
      ...(hosts.length > 0 ? [extension(OTHER_NAMES, sequence(...hosts.map(hostName)))] : []),
      extension(SUBJECT_KEY, octets(keyNumber(spki))),
      extension(AUTHORITY_KEY, sequence(tagged(0x80, keyNumber(issuerSpki)))),
    ],
  });
  return {
    authority: Buffer.from(authority.certificate),
    certificate: Buffer.from(certificate),
    key: Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}

/** No peer accepts a certificate whose authority has expired. */
function checkEnd({ certificate }: CertificateAuthority, days: number, nowMs: number): void {
  const { validToDate } = new X509Certificate(certificate);
  // It was cut to a second.
  const daysMax = (validToDate.getTime() + 999 - nowMs) / DAY_MS;
  if (days <= daysMax) return;
  const end = validToDate.toISOString();
  const message =
    daysMax < 1
      ? `the authority expires at ${end}: make another one`
      : `days must be at most ${Math.floor(daysMax)}, because the authority expires at ${end}, not ${days}`;
  throw new PercolatorError('INVALID_ARGUMENT', message);
}

/** DNS names and IP addresses are written differently. */
function hostName(host: string): Buffer {
  if (isIP(host) === 4) return tagged(0x87, Buffer.from(host.split('.').map(Number)));
  if (isIP(host) === 6) return tagged(0x87, bytesOfIPv6(host));
  if (HOST.test(host)) return tagged(0x82, Buffer.from(host, 'ascii'));
  const message = `hosts must be names or IP addresses without a port, not ${JSON.stringify(host)}`;
  throw new PercolatorError('INVALID_ARGUMENT', message);
}

function bytesOfIPv6(host: string): Buffer {
  // Node writes the last two groups like the others, and one gap of zeros as `::`.
  const plain = new URL(`http://[${host}]`).hostname.slice(1, -1);
  const [before = [], after = []] = plain
    .split('::')
    .map((part) => part.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return Buffer.from(
    [...before, ...zeros, ...after].map((g) => g.padStart(4, '0')).join(''),
    'hex',
  );
}

interface ToSign {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly spki: Buffer;
  readonly nowMs: number;
  readonly untilMs: number;
  readonly signingKey: string;
  readonly extensions: readonly Buffer[];
}

/** In PEM. */
function certificateOf(content: ToSign): string {
  const { issuer, subject, spki, nowMs, untilMs, signingKey, extensions } = content;
  const algorithm = sequence(object(ECDSA_WITH_SHA256));
  const unsigned = sequence(
    tagged(0xa0, integer(Buffer.from([2]))), // Version 3.
    integer(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
    algorithm,
    issuer,
    sequence(time(nowMs - EARLIER_MS), time(untilMs)),
    subject,
    spki,
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', unsigned, signingKey);
  const der = sequence(unsigned, algorithm, bits(signature));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

/** What certificates that an authority signs repeat of its own one. */
function partsOf(pem: string): { readonly subject: Buffer; readonly spki: Buffer } {
  const der = new X509Certificate(pem).raw;
  const [unsigned = der] = elementsOf(contentOf(der));
  // Version, serial number, algorithm, issuer, validity, subject.
  const subject = elementsOf(contentOf(unsigned))[5];
  assert(subject !== undefined, 'a certificate has a subject');
  return { subject, spki: createPublicKey(pem).export({ type: 'spki', format: 'der' }) };
}

function nameOf(parts: readonly (readonly [kind: string, text: string])[]): Buffer {
  return sequence(...parts.map(([kind, text]) => set(sequence(object(kind), utf8(text)))));
}

function keyNumber(spki: Buffer): Buffer {
  return createHash('sha256').update(spki).digest().subarray(0, 20);
}

function extension(kind: string, content: Buffer, isCritical = false): Buffer {
  return sequence(object(kind), ...(isCritical ? [TRUE] : []), octets(content));
}

/* DER: each element is its tag, the length of its content, and the content. */

const COMMON_NAME = '2.5.4.3';
const UNIT = '2.5.4.11';
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const SUBJECT_KEY = '2.5.29.14';
const KEY_USAGE = '2.5.29.15';
const OTHER_NAMES = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
const AUTHORITY_KEY = '2.5.29.35';
const PURPOSES = '2.5.29.37';

function tagged(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const head =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

function sequence(...contents: readonly Buffer[]): Buffer {
  return tagged(0x30, ...contents);
}

function set(content: Buffer): Buffer {
  return tagged(0x31, content);
}

/** A positive one: the first bit is its sign. */
function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes);
}

function octets(content: Buffer): Buffer {
  return tagged(0x04, content);
}

function bits(content: Buffer): Buffer {
  return tagged(0x03, Buffer.from([0]), content);
}

function utf8(text: string): Buffer {
  return tagged(0x0c, Buffer.from(text));
}

/** Years from 2050 on have four digits (RFC 5280, 4.1.2.5). */
function time(ms: number): Buffer {
  const digits = new Date(Math.floor(ms / 1_000) * 1_000)
    .toISOString()
    .replaceAll(/[-:T]|\.000/g, '');
  return digits < '2050'
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
}

/** The first two numbers share a byte; all others are in base 128. */
function object(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  const digits = others.flatMap((number) => {
    const septets = [number & 0x7f];
    for (let rest = number >> 7; rest > 0; rest >>= 7) septets.unshift((rest & 0x7f) | 0x80);
    return septets;
  });
  return tagged(0x06, Buffer.from([first * 40 + second, ...digits]));
}

const TRUE = tagged(0x01, Buffer.from([0xff]));
const SERVER = object('1.3.6.1.5.5.7.3.1');
const CLIENT = object('1.3.6.1.5.5.7.3.2');

function contentOf(element: Buffer): Buffer {
  const length = element[1] ?? 0;
  return element.subarray(length < 0x80 ? 2 : 2 + (length & 0x7f));
}

/** The elements in the content of one. */
function elementsOf(content: Buffer): readonly Buffer[] {
  const elements: Buffer[] = [];
  for (let at = 0; at < content.length;) {
    const short = content[at + 1] ?? 0;
    const more = short < 0x80 ? 0 : short & 0x7f;
    const length = more === 0 ? short : content.readUIntBE(at + 2, more);
    const end = at + 2 + more + length;
    elements.push(content.subarray(at, end));
    at = end;
  }
  return elements;
}
