/** For tests: the usage of a window in which nothing happened but what the test says. */
import type { MachineKind } from './machine.ts';
import type { KindUsage, Usage } from './usage.ts';

const NO_CALLS = {
  sent: 0,
  answered: 0,
  lost: 0,
  rows: 0,
  cells: 0,
  bytes: 0,
  latencyUs: 0,
  serverUs: 0,
  clientUs: 0,
  misses: 0,
};

/** Machines whose cores all work for the same share of the time. */
export function kindUsage(kind: MachineKind, machines: number, cores: number): KindUsage {
  return { kind, machines, cores, coresMax: cores, disks: 0, cards: 0, coreWaitMeanUs: 0 };
}

export function usageOf(kinds: readonly KindUsage[], given: Partial<Usage> = {}): Usage {
  return {
    seconds: 1,
    kinds,
    calls: { read: NO_CALLS, mutate: NO_CALLS, conditionalMutate: NO_CALLS, scan: NO_CALLS },
    timestamps: 0,
    oracleCalls: 0,
    lockCalls: 0,
    maintenanceUs: 0,
    ...given,
  };
}
