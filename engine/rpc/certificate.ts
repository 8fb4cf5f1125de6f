/**
 * An identity as TLS needs it, and the watch over its certificate: a week before it expires, a
 * warning says so, until another one is there.
 *
 * An identity is read once, when it is taken up. Its bytes are the caller's, who may use them for
 * something else later.
 *
 * Node's parser of certificates is in its module of cryptography, which the rest of the engine does
 * without; nothing here is random.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import { type Clock, PercolatorError, type Warnings } from '../base/index.ts';
import type { TlsIdentity } from './tls.ts';

const DAY_MS = 86_400_000;
const WARNED_MS = 7 * DAY_MS;
/** Between two looks at a certificate's end; far below a week. */
const LOOK_MS = 3_600_000;
/**
 * OpenSSL's SSL_OP_NO_TICKET. A ticket would let a peer come back without its certificate being
 * judged again, after its authority was withdrawn.
 */
const NO_TICKET = 0x4000;

/** An identity that can be used, and what its certificate says. */
export interface UsableIdentity {
  /** What Node's TLS needs; 1.3 only. */
  readonly context: SecureContextOptions;
  /** Whose it is, on one line. */
  readonly subject: string;
  /** The moment after which no peer accepts it. */
  readonly validTo: Date;
}

/** @throws INVALID_ARGUMENT for what is no certificate or key, or if they do not fit */
export function usable(identity: TlsIdentity): UsableIdentity {
  const [certificate] = certificatesIn(`${WRONG}certificate`, identity.certificate);
  certificatesIn(`${WRONG}authority`, identity.authority);
  const { subject, validToDate } = certificate;
  let fits = false;
  try {
    fits = certificate.checkPrivateKey(createPrivateKey(Buffer.from(identity.key)));
  } catch (cause) {
    throw wrong(`${WRONG}key is not a private key in PEM without a password`, cause);
  }
  if (!fits) throw wrong(`${WRONG}key is not that of the certificate`);
  const context: SecureContextOptions = {
    ca: Buffer.from(identity.authority),
    cert: Buffer.from(identity.certificate),
    key: Buffer.from(identity.key),
    minVersion: 'TLSv1.3',
    secureOptions: NO_TICKET,
  };
  return { context, subject: subject.replaceAll('\n', ', '), validTo: validToDate };
}

const WRONG = 'the option tls cannot be used: its ';

/** Where a certificate begins, in each of the three ways in which OpenSSL writes it. */
const BEGIN = /(?=-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----)/;

/**
 * All certificates of a text in PEM, in their order; a key may stand among them. OpenSSL stops
 * reading at the first that is damaged, and does without those that follow.
 * @param what as the error names it
 * @throws INVALID_ARGUMENT if there is none, or one cannot be read
 */
export function certificatesIn(
  what: string,
  pem: Uint8Array,
): readonly [X509Certificate, ...X509Certificate[]] {
  const parts = Buffer.from(pem).toString('latin1').split(BEGIN);
  const certificates = parts
    .filter((part) => part.search(BEGIN) === 0) // Not what stands before the first one.
    .map((part, i) => {
      try {
        return new X509Certificate(part);
      } catch (cause) {
        throw wrong(`${what} holds a certificate, number ${i + 1}, that cannot be read`, cause);
      }
    });
  const [first, ...others] = certificates;
  if (first === undefined) throw wrong(`${what} holds no certificate in PEM`);
  return [first, ...others];
}

/** Warns of the end of the certificate in use, until `signal` aborts. */
export async function watchExpiry(
  user: { readonly identity: UsableIdentity },
  { clock, warnings, signal }: Watching,
): Promise<void> {
  while (!signal.aborted) {
    warnOfExpiry(user.identity, clock, warnings);
    await clock.sleep(LOOK_MS, signal, { background: true });
  }
}

interface Watching {
  readonly clock: Clock;
  readonly warnings: Warnings;
  readonly signal: AbortSignal;
}

function warnOfExpiry(
  { subject, validTo }: UsableIdentity,
  clock: Clock,
  warnings: Warnings,
): void {
  const leftMs = validTo.getTime() - clock.wallMs();
  if (leftMs > WARNED_MS) {
    warnings.end(EXPIRY);
    return;
  }
  const verb = leftMs > 0 ? 'expires' : 'has expired';
  const sentence = `the certificate of ${subject} ${verb}: it is valid until ${validTo.toISOString()}, and after that no other process talks to this one`;
  warnings.begin(EXPIRY, { kind: 'certificate', sentence });
}

const EXPIRY = 'certificate';

/** The name of the warning that a new certificate cannot be used. */
export const RENEWAL = 'renewal';

/** @param user who goes on with the former one */
export function warnOfRenewal(warnings: Warnings, user: string, error: unknown): void {
  const why = error instanceof Error ? error.message : String(error);
  const sentence = `the new certificate cannot be used, so ${user} shows the former one: ${why}`;
  warnings.begin(RENEWAL, { kind: 'certificate', sentence, error });
}

function wrong(sentence: string, cause?: unknown): PercolatorError {
  return new PercolatorError('INVALID_ARGUMENT', sentence, { cause });
}
