/** A loaded database, and the variants in which it is measured. */
import type { MeasuredProcesses } from '../clients.ts';
import type { SystemName } from '../plan.ts';
import type { DatabaseAddress } from './address.ts';

/**
 * The ids given for processes that were not started here. No process has this id, so their
 * processor time is unknown, not 0.
 */
export const UNKNOWN_SERVERS: readonly number[] = [-1];

export interface LoadedDatabase extends AsyncDisposable {
  readonly systems: readonly System[];
  /**
   * Returns everything that is wrong with the state that the transactions left. The database must
   * be idle during the check. `tradeResults`: the number that the clients know to be committed.
   */
  check(tradeResults: number): Promise<readonly string[]>;
}

export interface System {
  readonly name: SystemName;
  readonly address: DatabaseAddress;
  /** What a commit survives, in one sentence. */
  readonly durability: string;
  /** The processes that serve it, in addition to its clients. */
  readonly servers: MeasuredProcesses;
  /**
   * Lets the servers do what they have put off. To be called when the system's turn ends: otherwise
   * they would do it while the next system is measured. Absent if they put nothing off.
   */
  readonly quiesce?: (() => Promise<void>) | undefined;
}
