/**
 * Who may talk to a service, and how: with mutual TLS, or in plaintext on this machine only.
 *
 *     tls         TLS 1.3; both sides show a certificate of an authority that the other one trusts
 *     neither     plaintext, between processes of this machine
 *     insecure    plaintext everywhere; said by a warning at every start
 *
 * The engine reads no files: a `TlsSource` hands it the bytes, and says when there are others.
 */
import { PercolatorError } from '../base/index.ts';
import { FLAG, FUNCTION, objectWith, type OptionRules } from '../base/options.ts';

/** What a process shows, and which authorities it trusts. All in PEM, as bytes. */
export interface TlsIdentity {
  /** The certificates of all trusted authorities; two for a while if one replaces another. */
  readonly authority: Uint8Array;
  /** This process's certificate, followed by those between it and its authority, if any. */
  readonly certificate: Uint8Array;
  /** The private key of the certificate. */
  readonly key: Uint8Array;
}

/** Where a process's identity comes from: files that an operator replaces, for example. */
export interface TlsSource {
  /** The newest identity that is complete: the key fits the certificate. */
  current(): TlsIdentity;
  /**
   * Calls `listener` after each change of `current`; the function that is returned ends that. The
   * next connections use the new identity.
   */
  onChange(listener: () => void): () => void;
}

/** For servers and clients. */
export interface SecurityOptions {
  /**
   * Certificates for mutual TLS 1.3. Default: none, so that only processes of this machine can be
   * reached, and reach this one.
   */
  readonly tls?: TlsSource | undefined;
  /**
   * Whether to talk in plaintext to other machines, with all that are there. Default false. True:
   * every process that reaches the address can take timestamps, drop tables and raise the horizon,
   * and one that answers in the oracle's place can have commits lost. A service warns of it at
   * every start.
   */
  readonly insecure?: boolean | undefined;
}

export const SECURITY: OptionRules<SecurityOptions> = {
  tls: objectWith('a source of certificates, with the functions current and onChange', {
    current: FUNCTION,
    onChange: FUNCTION,
  }),
  insecure: FLAG,
};

/** `localhost` by its name: no resolver that sends it elsewhere is to be trusted with the rest. */
const OF_THIS_MACHINE = /^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+$/;

/**
 * @param act as in `serveOracle cannot listen at`
 * @throws INVALID_ARGUMENT if `address` needs certificates, and none are given
 */
export function checkSecurity(
  act: string,
  address: string,
  { tls, insecure = false }: SecurityOptions,
): void {
  if (tls !== undefined && insecure) {
    const message = 'tls and insecure exclude each other: leave one of them out';
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  if (tls !== undefined || insecure || OF_THIS_MACHINE.test(address)) return;
  const message = `${act} ${address} without the option tls, because that is not an address of this machine alone; give certificates, or insecure: true`;
  throw new PercolatorError('INVALID_ARGUMENT', message);
}
