/** The virtual Bigtable keeps the contract, whatever its operations cost. */
import { conformanceSuite } from '../../engine/bigtable/conformance.ts';
import { VirtualCluster } from './cluster.ts';
import { PAPER, pumpedStore, withoutCosts } from './testing.ts';

let seed = 0;

conformanceSuite('the virtual store at the costs of the paper', async () => {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: ++seed, tabletServers: 5 });
  return pumpedStore(cluster, cluster.addMachine('client'));
});

conformanceSuite('the virtual store without costs', async () => {
  const calibration = withoutCosts(PAPER);
  const cluster = new VirtualCluster({ calibration, seed: ++seed, tabletServers: 2 });
  return pumpedStore(cluster, cluster.addMachine('client'));
});
