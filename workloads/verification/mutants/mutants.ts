/**
 * The mutants: each breaks a rule of protocol.md, and every rule that the simulation can break has
 * one.
 */
import { BATCHING } from './batching.ts';
import { COLLECTING } from './collecting.ts';
import { COMMITTING } from './committing.ts';
import { DROPPING } from './dropping.ts';
import { EMBEDDED } from './embedded.ts';
import { HBASE } from './hbase.ts';
import { IDENTITY } from './identity.ts';
import type { Mutant } from './mutant.ts';
import { NOTIFYING } from './notifying.ts';
import { PREWRITING } from './prewriting.ts';
import { READING } from './reading.ts';
import { SOCKETS } from './sockets.ts';
import { TIMESTAMPS } from './timestamps.ts';

export const MUTANTS: readonly Mutant[] = [
  ...PREWRITING,
  ...COMMITTING,
  ...READING,
  ...COLLECTING,
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
