/**
 * An oracle for read-only processes: it hands nothing out and writes nothing.
 *
 * It answers with the limit of the newest range. Every timestamp handed out is below that limit, so
 * the answer is "larger than every one handed out before this call". But another process is still
 * to hand that timestamp out, so the answer serves for comparisons, never for writes.
 */
import { PercolatorError } from '../base/index.ts';
import type { Bigtable, Timestamp } from '../bigtable/index.ts';
import { checkOracle } from './identity.ts';
import { readOracleRow } from './oracle-row.ts';
import type { TimestampOracle } from './oracle.ts';

/** @throws TABLE_NOT_FOUND at the first question, if the store has no oracle */
export function watchTimestamps(store: Bigtable): TimestampOracle {
  let horizon: Timestamp = 0;
  let drops = 0;

  async function look(): Promise<Timestamp> {
    const row = await readOracleRow(store);
    horizon = Math.max(horizon, row.horizon);
    drops = Math.max(drops, row.drops);
    return row.range.limit;
  }

  return {
    next: look,
    get horizon() {
      return horizon;
    },
    readHorizon: async () => {
      await look();
      return horizon;
    },
    raiseHorizon: async () => {
      throw new PercolatorError('READ_ONLY', 'a bystander does not move the horizon');
    },
    get drops() {
      return drops;
    },
    announceDrop: async () => {
      throw new PercolatorError('READ_ONLY', 'a bystander drops no table');
    },
    belongTo: async (identity) => checkOracle(identity, (await readOracleRow(store)).identity),
  };
}
