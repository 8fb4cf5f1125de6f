/**
 * The certificates of a run across hosts, which the coordinator makes for it alone: an authority,
 * and one identity for all processes of the run. It is in the environment of each process, where no
 * other user of a host can read it, as they could in a command line.
 *
 * With it the services of the run listen on the addresses of their hosts, and let in nothing but
 * processes of the run. Without it they stay on the loopback.
 */
import process from 'node:process';
import type { TlsIdentity, TlsSource } from '#engine';

const VARIABLE = 'PERCOLATOR_RUN_IDENTITY';

/** As text, which is a secret of the run. */
export function identityText({ authority, certificate, key }: TlsIdentity): string {
  return JSON.stringify([authority, certificate, key].map((pem) => Buffer.from(pem).toString()));
}

/** Gives the identity to this process, and to all that it starts from now on. */
export function takeIdentity(text: string): void {
  process.env[VARIABLE] = text;
}

/** Undefined in a run that is on one host. */
export function tlsOfRun(): TlsSource | undefined {
  const text = process.env[VARIABLE];
  if (text === undefined) return undefined;
  const [authority = '', certificate = '', key = ''] = JSON.parse(text) as readonly string[];
  const identity: TlsIdentity = {
    authority: Buffer.from(authority),
    certificate: Buffer.from(certificate),
    key: Buffer.from(key),
  };
  return { current: () => identity, onChange: () => () => {} };
}
