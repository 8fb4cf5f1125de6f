/**
 * What a process may ask of a service, by the role in its certificate: the organizational unit (OU)
 * of the subject, exactly one.
 *
 *     worker ⊂ collector ⊂ admin
 *
 * A larger role may do all that a smaller one may. A call is judged before its request is read, so
 * nothing that a refused peer sends reaches the service. Who has no certificate at all does not
 * come this far (listener.ts).
 */
import type { PeerCertificate } from 'node:tls';
import { oneOf, type OptionRule } from '../base/options.ts';

export type Role = 'worker' | 'collector' | 'admin';

/** From the smallest on. */
const ROLES: readonly Role[] = ['worker', 'collector', 'admin'];
export const ROLE: OptionRule = oneOf(...ROLES);

/** Of every call of every service; a method that is missing here is refused to all. */
export const NEEDED: Readonly<Record<string, Role | 'none'>> = {
  // Timestamps, for transactions.
  '/percolator.oracle.v1.TimestampOracle/Allocate': 'worker',
  '/percolator.oracle.v1.TimestampOracle/ReadHorizon': 'worker',
  // Collectors raise it; one that is too high makes snapshots stale forever.
  '/percolator.oracle.v1.TimestampOracle/RaiseHorizon': 'collector',
  // Who drops tables announces it.
  '/percolator.oracle.v1.TimestampOracle/AnnounceDrop': 'admin',
  '/percolator.locks.v1.LockService/Stay': 'worker',
  '/percolator.locks.v1.LockService/LockRange': 'worker',
  '/percolator.locks.v1.LockService/UnlockRange': 'worker',
  // What is there, and whether it serves: for all that have a certificate of the authority.
  '/percolator.rpc.v1.Server/Describe': 'none',
  '/grpc.health.v1.Health/Check': 'none',
  '/grpc.health.v1.Health/Watch': 'none',
};

/** Why the call is refused to a peer with this certificate; undefined if it is not. */
export function refusalOf(path: string, peer: PeerCertificate | undefined): string | undefined {
  const needed = NEEDED[path] ?? 'admin';
  if (needed === 'none' && peer !== undefined) return undefined;
  const method = path.split('/').at(-1) ?? path;
  if (peer === undefined) return `${method} needs the role ${needed}, and there is no certificate`;
  const { CN: name, OU: unit } = peer.subject;
  const role = ROLES.find((one) => one === unit);
  if (role !== undefined && ROLES.indexOf(role) >= ROLES.indexOf(needed as Role)) return undefined;
  const has = role === undefined ? `no role (OU=${String(unit)})` : `the role ${role}`;
  return `${method} needs the role ${needed}, and the certificate of ${String(name)} has ${has}`;
}
