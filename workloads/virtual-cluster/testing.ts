/** For tests: calibrations without costs, and a store whose time runs whenever a call waits. */
import path from 'node:path';
import { type Bigtable, decorate } from '#engine';
import type { Calibration } from './calibration/calibration.ts';
import { type LoadedCalibration, loadCalibration } from './calibration/load.ts';
import type { VirtualCluster, Machine } from './cluster.ts';
import { ClientStore } from './client-store.ts';
import { ALWAYS_WARM } from './machine.ts';

/** No call costs anything, and deaths are detected at once; sizes, batch and workloads stay. */
export function withoutCosts(calibration: Calibration): Calibration {
  const { storage, cache, network, oracle, lockService, failures } = calibration;
  const none = { serverUs: 0, clientUs: 0 };
  const free = { fixed: none, perCell: none };
  const noTime = { medianUs: 0, p99Us: 0 };
  return {
    ...calibration,
    idle: ALWAYS_WARM,
    storage: {
      ...storage,
      call: { fixed: none, perByte: { serverNs: 0, clientNs: 0 } },
      read: free,
      mutate: free,
      conditionalMutate: free,
      writtenByteNs: 0,
      batchedRowUs: 0,
      scan: free,
      maintenancePerByteNs: 0,
    },
    log: {
      wait: noTime,
      perGroupUs: 0,
      perGroupAsideUs: 0,
      perUnsyncedGroupUs: 0,
      waitAfterIdleUs: 0,
    },
    cache: { ...cache, missCpuUs: 0, missDiskUs: 0 },
    network: { ...network, roundTrip: noTime, bytesPerSecond: Infinity },
    oracle: { ...oracle, perCallUs: 0, perTimestampUs: 0 },
    lockService: { ...lockService, perCallUs: 0 },
    failures: { ...failures, detectionMs: 0 },
  };
}

/** The calibration in the repository, although `./run.sh calibrate` may have made another here. */
export function keptCalibration(name: string): LoadedCalibration {
  return loadCalibration(path.join(import.meta.dirname, 'calibration', `${name}.json`));
}

export const PAPER: Calibration = loadCalibration('paper-2010').calibration;

/** A client's store for code that knows nothing of virtual time: a call makes time run. */
export function pumpedStore(cluster: VirtualCluster, machine: Machine): Bigtable {
  const store = new ClientStore(cluster.storage, { machine, life: machine.life });
  let waiting = 0;
  let isRunning = false;
  const pump = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    await cluster.loop.run(() => waiting === 0);
    isRunning = false;
    if (waiting > 0) await pump();
  };
  const pumped =
    <A extends readonly unknown[], T>(call: (...given: A) => Promise<T>) =>
    async (...given: A): Promise<T> => {
      waiting++;
      void pump();
      try {
        return await call(...given);
      } finally {
        waiting--;
      }
    };
  return decorate(store, {
    readRow: pumped((...given) => store.readRow(...given)),
    readRows: pumped((...given) => store.readRows(...given)),
    readRange: pumped((...given) => store.readRange(...given)),
    checkAndMutateRow: pumped((given) => store.checkAndMutateRow(given)),
    checkAndMutateRows: pumped((given) => store.checkAndMutateRows(given)),
    mutateRows: pumped((given) => store.mutateRows(given)),
    sampleRowKeys: pumped((table) => store.sampleRowKeys(table)),
    createTable: pumped((...given) => store.createTable(...given)),
    listTables: pumped(() => store.listTables()),
    dropTable: pumped((table) => store.dropTable(table)),
    close: pumped(() => store.close()),
  });
}
