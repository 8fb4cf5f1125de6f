/**
 * Certificates from files, read again when they change, so that none of them needs a restart.
 *
 *     files change ─▶ read all three ─▶ checked ─▶ the next connections use them
 *                                          └─ wrong ─▶ the old ones stay, and a warning, until
 *                                                      new ones, or the old ones, are there
 *
 * A program also reads them at SIGHUP. A library must not: the signal is its user's.
 *
 * An operator replaces one file after the other, so what is read in between may not fit together: a
 * key of another certificate. Then the old ones stay until all three fit.
 */
import { createPrivateKey, type X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import process from 'node:process';
import { type Clock, PercolatorError, systemClock } from '../base/index.ts';
import { certificatesIn } from '../rpc/certificate.ts';
import type { TlsIdentity, TlsSource } from '../rpc/tls.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { type TlsFiles, whyUnreadable, wrong } from './configuration.ts';

export interface TlsFilesSource extends TlsSource {
  /** Ends the watching. Twice is harmless. */
  close(): void;
}

export interface TlsFilesOptions {
  /** Called with a sentence when the files were replaced by some that cannot be used. */
  readonly onRefused?: ((sentence: string) => void) | undefined;
  /** Called when the files are again those in use, perhaps after some that were refused. */
  readonly onRestored?: (() => void) | undefined;
  /** Called when new ones are in use. */
  readonly onTaken?: (() => void) | undefined;
  /** Called once, a week before the certificate in use expires. */
  readonly onExpiring?: ((days: number) => unknown) | undefined;
  /** Where others reach this process; its certificate must name it. Default: not checked. */
  readonly host?: string | undefined;
  /** Whether SIGHUP reads them again, too. Default false. */
  readonly atHangup?: boolean | undefined;
  readonly clock?: Clock | undefined;
  /** Told how long the certificate in use is valid. Default: nothing is measured. */
  readonly telemetry?: Telemetry | undefined;
}

/** Milliseconds between two looks. `fs.watch` misses files that links and mounts lead to. */
const LOOK_MS = 2_000;
const DAY_MS = 86_400_000;
const WARNED_DAYS = 7;

/** @throws INVALID_ARGUMENT for a file that is missing, unreadable, expired or of another host */
export function openTlsFiles(files: TlsFiles, options: TlsFilesOptions = {}): TlsFilesSource {
  return new WatchedFiles(files, options);
}

class WatchedFiles implements TlsFilesSource {
  readonly #files: TlsFiles;
  readonly #options: TlsFilesOptions;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  readonly #closed = new AbortController();
  readonly #endReadings: (() => void) | undefined;
  #identity: TlsIdentity;
  #validTo: number;
  /** Of the files as last read: what they were then, whether they were taken or not. */
  #seen: string;
  #warnedOf: TlsIdentity | undefined;

  constructor(files: TlsFiles, options: TlsFilesOptions) {
    this.#files = files;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#seen = stampOf(files);
    const { identity, validTo } = readIdentity(files, options.host, this.#clock.wallMs());
    this.#identity = identity;
    this.#validTo = validTo;
    this.#endReadings = options.telemetry?.watch(() => [
      { metric: 'percolator.certificate.remaining', value: this.#remainingMs / 1_000 },
    ]);
    if (options.atHangup === true) process.on('SIGHUP', this.#read);
    void this.#watch();
  }

  current(): TlsIdentity {
    return this.#identity;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    this.#closed.abort();
    process.off('SIGHUP', this.#read);
    this.#listeners.clear();
    this.#endReadings?.();
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      this.#warnOfExpiry();
      await this.#clock.sleep(LOOK_MS, signal, { background: true });
      if (!signal.aborted && stampOf(this.#files) !== this.#seen) this.#read();
    }
  }

  readonly #read = (): void => {
    this.#seen = stampOf(this.#files);
    try {
      const { host } = this.#options;
      const { identity, validTo } = readIdentity(this.#files, host, this.#clock.wallMs());
      if (isSame(identity, this.#identity)) {
        this.#options.onRestored?.();
        return;
      }
      this.#identity = identity;
      this.#validTo = validTo;
    } catch (error) {
      if (!(error instanceof PercolatorError)) throw error;
      this.#options.onRefused?.(error.message);
      return;
    }
    this.#options.onTaken?.();
    for (const listener of this.#listeners) listener();
  };

  get #remainingMs(): number {
    return this.#validTo - this.#clock.wallMs();
  }

  #warnOfExpiry(): void {
    const days = Math.floor(this.#remainingMs / DAY_MS);
    if (days >= WARNED_DAYS || this.#warnedOf === this.#identity) return;
    this.#warnedOf = this.#identity;
    this.#options.onExpiring?.(days);
  }
}

/** Changes when one of the files does; one that cannot be looked at counts as changed. */
function stampOf({ authority, certificate, key }: TlsFiles): string {
  return [authority, certificate, key]
    .map((file) => {
      try {
        const { ino, size, mtimeMs } = statSync(file);
        return `${ino} ${size} ${mtimeMs}`;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code ?? 'unreadable'; // A reading says why.
      }
    })
    .join(', ');
}

function isSame(a: TlsIdentity, b: TlsIdentity): boolean {
  const names = ['authority', 'certificate', 'key'] as const;
  return names.every((name) => Buffer.compare(a[name], b[name]) === 0);
}

function readIdentity(
  files: TlsFiles,
  host: string | undefined,
  nowMs: number,
): { readonly identity: TlsIdentity; readonly validTo: number } {
  const authority = readPem('tls.authority', files.authority);
  const certificate = readPem('tls.certificate', files.certificate);
  const key = readPem('tls.key', files.key);
  const authorities = certificatesIn(`tls.authority ${files.authority}`, authority);
  const chain = certificatesIn(`tls.certificate ${files.certificate}`, certificate);
  const [own] = chain;
  checkDates(files.certificate, own, nowMs);
  checkKey(files, own, key);
  if (!isOfAuthority(chain, authorities)) {
    throw wrong(
      `tls.certificate ${files.certificate} is not of an authority in tls.authority ${files.authority}`,
    );
  }
  checkHost(files.certificate, own, host);
  return { identity: { authority, certificate, key }, validTo: Date.parse(own.validTo) };
}

function readPem(setting: string, file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw wrong(`${setting} ${file} ${whyUnreadable(code)}`, error);
  }
}

function checkDates(file: string, { validFrom, validTo }: X509Certificate, nowMs: number): void {
  if (nowMs >= Date.parse(validTo)) {
    throw wrong(`tls.certificate ${file} has expired: it was valid until ${validTo}`);
  }
  if (nowMs < Date.parse(validFrom)) {
    throw wrong(`tls.certificate ${file} is not valid yet: only from ${validFrom}`);
  }
}

function checkKey(files: TlsFiles, certificate: X509Certificate, pem: Uint8Array): void {
  let isOurs: boolean;
  try {
    isOurs = certificate.checkPrivateKey(createPrivateKey(Buffer.from(pem)));
  } catch (cause) {
    throw wrong(`tls.key ${files.key} holds no private key in PEM`, cause);
  }
  if (isOurs) return;
  throw wrong(`tls.key ${files.key} is not the key of tls.certificate ${files.certificate}`);
}

/** Each certificate of the chain is signed by the next one, and the last by an authority. */
function isOfAuthority(
  chain: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): boolean {
  return chain.every((one, i) => {
    const next = chain[i + 1];
    const issuers = next === undefined ? authorities : [next, ...authorities];
    return issuers.some((issuer) => one.checkIssued(issuer) && one.verify(issuer.publicKey));
  });
}

function checkHost(file: string, certificate: X509Certificate, host: string | undefined): void {
  if (host === undefined) return;
  const isNamed = certificate.checkIP(host) ?? certificate.checkHost(host);
  if (isNamed !== undefined) return;
  const names = certificate.subjectAltName ?? 'no host';
  throw wrong(`tls.certificate ${file} names ${names}, not ${host}, at which others reach it`);
}
