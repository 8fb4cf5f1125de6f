/** A loaded database, and the ways in which it is measured. */
import type { Parts } from '../clients.ts';
import type { WayName } from '../plan.ts';
import type { DatabaseAddress } from './address.ts';

export interface LoadedDatabase extends AsyncDisposable {
  readonly ways: readonly Way[];
  /**
   * Everything that is wrong with what the transactions have left behind. Nobody else uses the database meanwhile.
   * `tradeResults`: how many the clients know to be committed.
   */
  check(tradeResults: number): Promise<readonly string[]>;
}

export interface Way {
  readonly name: WayName;
  readonly address: DatabaseAddress;
  /** What a commit survives, in one sentence. */
  readonly durability: string;
  /** The processes that serve it, besides its clients. */
  readonly servers: Parts;
}
