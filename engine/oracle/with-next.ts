/** An oracle whose requests are watched or delayed: for tests, the simulator and the cluster. */
import type { Timestamp } from '../bigtable/index.ts';
import type { TimestampOracle } from './oracle.ts';

/** The oracle with another `next`; all else goes to the oracle. */
export function withNext(oracle: TimestampOracle, next: () => Promise<Timestamp>): TimestampOracle {
  return {
    next,
    get horizon() {
      return oracle.horizon;
    },
    readHorizon: () => oracle.readHorizon(),
    raiseHorizon: (horizon) => oracle.raiseHorizon(horizon),
    get drops() {
      return oracle.drops;
    },
    announceDrop: () => oracle.announceDrop(),
    belongTo: (identity) => oracle.belongTo(identity),
  };
}
