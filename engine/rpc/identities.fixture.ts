/** Certificates for tests: an authority that all trust, another one, and identities by them. */
import { systemClock } from '../base/index.ts';
import {
  type CertificateAuthority,
  type CertificateOptions,
  createAuthority,
  issueCertificate,
} from '../host/certificates.ts';
import type { TlsIdentity, TlsSource } from './tls.ts';

export const NOW_MS: number = systemClock.wallMs();
export const DAY_MS = 86_400_000;
export const AUTHORITY: CertificateAuthority = createAuthority({ nowMs: NOW_MS });
export const OTHER_AUTHORITY: CertificateAuthority = createAuthority({ nowMs: NOW_MS });
export const HOSTS: readonly string[] = ['localhost', '127.0.0.1'];

/** An identity by the authority that all trust, unless a test says otherwise. */
export function identity(
  options: Partial<CertificateOptions> = {},
  by: CertificateAuthority = AUTHORITY,
): TlsIdentity {
  return issueCertificate(by, {
    name: 'a client',
    role: 'worker',
    nowMs: systemClock.wallMs(),
    ...options,
  });
}

export class Source implements TlsSource {
  #identity: TlsIdentity;
  readonly #listeners = new Set<() => void>();

  constructor(first: TlsIdentity) {
    this.#identity = first;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  current(): TlsIdentity {
    return this.#identity;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  renew(next: TlsIdentity): void {
    this.#identity = next;
    for (const listener of this.#listeners) listener();
  }
}
