/**
 * For tests: loaded by each process of a round before its program. The first run of each observer
 * in a process fails.
 */
import { WORKLOADS } from '../invariants/index.ts';

for (const observer of WORKLOADS.flatMap(({ observers }) => observers)) {
  const run = observer.run.bind(observer);
  let hasFailed = false;
  observer.run = async (work, row) => {
    if (hasFailed) return run(work, row);
    hasFailed = true;
    throw new Error('the first run fails');
  };
}
