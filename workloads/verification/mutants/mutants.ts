/**
 * The mutants: each breaks a rule of protocol.md, and every rule that the simulation can break has
 * one.
 */
import { readFileSync } from 'node:fs';
import { COLLECTING } from './collecting.ts';
import { COMMITTING, PREWRITING } from './committing.ts';
import { EMBEDDED } from './embedded.ts';
import { FOLLOWING } from './following.ts';
import { SHARING } from './sharing.ts';
import { HBASE } from './hbase.ts';
import { DROPPING, IDENTITY } from './identity.ts';
import type { Mutant } from './mutant.ts';
import { NOTIFYING } from './notifying.ts';
import { BATCHING, READING } from './reading.ts';
import { SOCKETS } from './sockets.ts';
import { TIMESTAMPS } from './timestamps.ts';

export const MUTANTS: readonly Mutant[] = [
  ...PREWRITING,
  ...COMMITTING,
  ...READING,
  ...COLLECTING,
  ...FOLLOWING,
  ...SHARING,
  ...TIMESTAMPS,
  ...IDENTITY,
  ...DROPPING,
  ...NOTIFYING,
  ...BATCHING,
  ...HBASE,
  ...EMBEDDED,
  ...SOCKETS,
];

/** Rules without a mutant, with the reasons. */
export const WITHOUT_MUTANT: Readonly<Record<string, string>> = {
  P13: 'one-phase commit is excluded, so a duplicate can be answered under one protocol only',
  P32: 'a warning to operators: the engine configures no garbage collection of the storage',
  P34: 'the same warning: no family has a time to live',
  P39: 'asynchronous commit is excluded',
  P46: 'allowed and documented: an observer that writes its own column runs until it stops',
  P51: 'cannot be prevented, and is documented: an observer may act outside of its transaction',
};

/**
 * For each mutant, the first seed that catches it, found by
 * `./run.sh mutants --profile standard --update`. Tests run only these seeds. A change of the
 * engine or the simulator may stop a seed from catching its mutant; find another one then.
 */
export const QUICKEST: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(new URL('quickest.json', import.meta.url), 'utf8'),
) as Record<string, number>;

/**
 * The seeds that are tried where no hunt is asked for: the known one. On sockets the machine has
 * its part in each run, so that no seed alone decides.
 */
export function knownSeedsOf({ name, sockets, world }: Mutant): readonly number[] {
  const known = QUICKEST[name] ?? 1;
  const isOnSockets = sockets !== undefined || world === 'services';
  return isOnSockets ? [known, 1, 2, 3, 4] : [known];
}
