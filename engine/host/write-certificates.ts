/**
 * A folder of certificates for a first cluster: `percolator certificates`.
 *
 *     authority.pem, authority.key     made once; with them, more certificates can be made later
 *     NAME.pem, NAME.key               of each host, and of each client
 *
 * Keys are readable by their owner alone. All is checked, and all files are written under other
 * names, before the first appears under its own: a process that watches a file never reads half of
 * it.
 */
import { createPrivateKey } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { certificatesIn } from '../rpc/certificate.ts';
import type { Role } from '../rpc/index.ts';
import { type CertificateAuthority, createAuthority, issueCertificate } from './certificates.ts';
import { wrong } from './configuration.ts';

export interface CertificateFile {
  /** The name of its files. Letters, digits, and `.`, `-`, `_`. */
  readonly name: string;
  /** Default `worker`. */
  readonly role?: Role | undefined;
  /** The names and addresses at which it serves. Default none: a client's. */
  readonly hosts?: readonly string[] | undefined;
}

export interface WriteCertificatesOptions {
  /** Where they go; it is made if it is not there. */
  readonly folder: string;
  readonly certificates: readonly CertificateFile[];
  /** Days until they expire. Default 90. */
  readonly days?: number | undefined;
  /** Whether certificates that are there are replaced. Default false. Never the authority. */
  readonly force?: boolean | undefined;
  /** The time now, in milliseconds since 1970. */
  readonly nowMs: number;
}

const NAME = /^[\w-][\w.-]{0,62}$/;
const SECRET = 0o600;
const PUBLIC = 0o644;

/**
 * Resolves to the names of all files that were written.
 * @throws INVALID_ARGUMENT for a wrong option, a file that is there or cannot be written, or an
 *   authority that cannot be used; nothing is left then
 */
export async function writeCertificates(
  options: WriteCertificatesOptions,
): Promise<readonly string[]> {
  const { folder, certificates, days, force = false, nowMs } = options;
  for (const { name } of certificates) checkName(name, folder, force);
  const former = await authorityIn(folder);
  const authority = former ?? createAuthority({ nowMs });
  const issued = certificates.map(({ name, role = 'worker', hosts }) => {
    const { key, certificate } = issueCertificate(authority, { name, role, hosts, days, nowMs });
    return { name, key, certificate };
  });
  const files: NewFile[] = [
    ...(former === undefined
      ? [
          { name: 'authority.key', content: authority.key, mode: SECRET },
          { name: 'authority.pem', content: authority.certificate, mode: PUBLIC },
        ]
      : []),
    ...issued.flatMap(({ name, key, certificate }) => [
      { name: `${name}.key`, content: key, mode: SECRET },
      { name: `${name}.pem`, content: certificate, mode: PUBLIC },
    ]),
  ];
  await makeFolder(folder);
  await writeAll(folder, files);
  return files.map(({ name }) => name);
}

interface NewFile {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly mode: number;
}

function checkName(name: string, folder: string, force: boolean): void {
  if (!NAME.test(name) || name === 'authority') {
    const message = `a certificate must have a name of letters, digits, dots and dashes other than authority, not ${JSON.stringify(name)}`;
    throw wrong(message);
  }
  const there = [`${name}.pem`, `${name}.key`].map((file) => join(folder, file)).filter(existsSync);
  const [first] = there;
  const inTheWay = there.find((file) => statSync(file).isDirectory());
  if (inTheWay !== undefined) throw wrong(`${inTheWay} is a folder: remove it`);
  if (first === undefined || force) return;
  throw wrong(`${first} is there already: name another folder, or give --force to replace it`);
}

/** Undefined if there is none yet. */
async function authorityIn(folder: string): Promise<CertificateAuthority | undefined> {
  const [pem, keyFile] = [join(folder, 'authority.pem'), join(folder, 'authority.key')];
  const [certificate, key] = [await textOf(pem), await textOf(keyFile)];
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined || key === undefined) {
    const missing = key === undefined ? keyFile : pem;
    throw wrong(
      `${missing} is missing: certificates can only be made where both files of the authority are`,
    );
  }
  const [own] = certificatesIn(pem, Buffer.from(certificate));
  let isOurs: boolean;
  try {
    isOurs = own.checkPrivateKey(createPrivateKey(key));
  } catch (cause) {
    throw wrong(`${keyFile} holds no private key in PEM without a password`, cause);
  }
  if (!isOurs) throw wrong(`${keyFile} is not the key of ${pem}`);
  return { certificate, key };
}

async function textOf(file: string): Promise<string | undefined> {
  if (!existsSync(file)) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw wrong(`${file} cannot be read (${codeOf(cause)})`, cause);
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw wrong(`${folder} cannot be used as a folder (${codeOf(cause)})`, cause);
  }
}

async function writeAll(folder: string, files: readonly NewFile[]): Promise<void> {
  const partials: string[] = [];
  let file = '';
  try {
    for (const { name, content, mode } of files) {
      file = join(folder, name);
      const partial = `${file}.new`;
      await rm(partial, { force: true }); // Of a process that was killed; its mode may be another one.
      partials.push(partial);
      await writeFile(partial, content, { mode, flag: 'wx' });
      await chmod(partial, mode); // The process's mask may have taken more from it.
    }
    for (const { name } of files) {
      file = join(folder, name);
      await rename(`${file}.new`, file);
    }
  } catch (cause) {
    for (const partial of partials) await rm(partial, { force: true }).catch(() => {});
    throw wrong(`${file} cannot be written (${codeOf(cause)})`, cause);
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
