/**
 * What fails in a run of bench:failover: which processes, and how each is killed or stopped.
 *
 *     region-servers   a third of them (figure 10 of the paper)
 *     master           the only one: regions stay where they are, and none can be moved
 *     data-node        the first one: the logs of the region servers lose one of their copies
 *     workers          a third of them: their locks stay, and other processes must resolve them
 *     oracle           the one that hands out timestamps; another one is on standby
 *     lock-service     the only one: no process is known to be dead, and scanners meet
 */
import { createRandom } from '#engine';
import { shuffled } from '../harness/chance.ts';

/** A system of processes with names. */
export interface NamedProcesses {
  kill(name: string): Promise<void>;
  /** Stops the process until `resume`, or for `forMs`, even if this program is killed meanwhile. */
  pause(name: string, forMs: number): void;
  resume(name: string): void;
  /** Starts the process if it does not run; resolves when it is ready, as far as that is known. */
  start(name: string): Promise<void>;
}

export interface VictimChoice {
  readonly kill: Victim;
  readonly regionServers: number;
  readonly workers: number;
  readonly seed: number;
  /** Whether the hosts of the region servers are cut off. */
  readonly cut: boolean;
}

interface VictimKind {
  readonly of: 'hbase' | 'engine';
  /** The name of the process, or how the names of many begin. */
  readonly name: string;
  /** In words. */
  readonly what: string;
  /** The option that says how many there are, of which a third fails; undefined for one process. */
  readonly count?: 'regionServers' | 'workers';
}

export const VICTIMS = [
  'region-servers',
  'master',
  'data-node',
  'workers',
  'oracle',
  'lock-service',
] as const;
export type Victim = (typeof VICTIMS)[number];

const KINDS: Readonly<Record<Victim, VictimKind>> = {
  'region-servers': {
    of: 'hbase',
    name: 'region-server',
    what: 'region servers',
    count: 'regionServers',
  },
  master: { of: 'hbase', name: 'master', what: 'the master' },
  'data-node': { of: 'hbase', name: 'data-node-1', what: 'a DataNode' },
  workers: { of: 'engine', name: 'worker', what: 'workers', count: 'workers' },
  oracle: { of: 'engine', name: 'oracle', what: 'the timestamp oracle' },
  'lock-service': { of: 'engine', name: 'lock-service', what: 'the lock service' },
};

/** For `oracle`, the engine's `leasedOracle` finds out which one, when it is to fail. */
export function victimsOf(choice: VictimChoice): readonly string[] {
  const { name, count } = KINDS[choice.kill];
  if (count === undefined) return [name];
  const names = Array.from({ length: choice[count] }, (_, i) => `${name}-${i + 1}`);
  const order = shuffled(createRandom(choice.seed).fork('killed'), names);
  return order.slice(0, Math.max(1, Math.floor(names.length / 3)));
}

/** As in the title of a chart: `2 of 6 region servers`. */
export function describeVictims(choice: VictimChoice): string {
  const { count, ...kind } = KINDS[choice.kill];
  const what = choice.cut ? 'hosts with region servers' : kind.what;
  return count === undefined ? what : `${victimsOf(choice).length} of ${choice[count]} ${what}`;
}

/** The system that the victim's processes belong to. */
export function ownerOf(kill: Victim): VictimKind['of'] {
  return KINDS[kill].of;
}
