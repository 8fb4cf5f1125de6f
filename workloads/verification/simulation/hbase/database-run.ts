/**
 * Whole simulated runs on a simulated cluster: the engine, the HBase client, and HBase's own
 * messages in virtual time.
 *
 *     client ──▶ engine ──▶ HBase client ──▶ wire ──▶ cluster ──applied──▶ the tables of the world,
 *                                                                          where umpire and judges look
 *
 * Faults of messages are those of the wire (cluster.ts), and processes still die, stop and have
 * clocks that jump. The umpire sees no reads here, so only the history shows that a server
 * that stood still has answered a read wrongly.
 */
import { type Clock, createRandom, type Random } from '../../../../engine/base/index.ts';
import type { Bigtable, Mutation } from '../../../../engine/bigtable/index.ts';
import { createHBase } from '../../../../engine/bigtable/hbase/open-hbase.ts';
import { ENDPOINT, type TableSchemaMessage } from '../../../../engine/bigtable/hbase/messages.ts';
import { protosOf } from '../../../../engine/bigtable/hbase/requests.ts';
import { Servers } from '../../../../engine/bigtable/hbase/servers.ts';
import { text } from '../../../../engine/testing/hbase/stored-row.ts';
import { type SimulationPlan, planOf } from '../plan.ts';
import type { SimulatedProcess } from '../process.ts';
import type { World } from '../world.ts';
import {
  CALL_FAULTS,
  HBaseCluster,
  CLUSTER_EVENTS,
  type HBaseKnobs,
  randomRates,
} from './cluster.ts';
import { mutationsOf } from './truth.ts';
import { connectTo } from './wire.ts';

/** How long a proof lasts, in the run's scale of time: locks live for less than a second. */
const PROOF_MS = 60;
const TIMEOUT_MS = 100;
/** The shortest that the proof allows, and one that outlasts the deadline of a call. */
const SESSIONS_MS = [90, 400];

/** The plan of the seed, on a cluster that the seed decides. */
export function planOnHBase(seed: number, favoured: Partial<HBaseKnobs> = {}): SimulationPlan {
  const plan = planOf(seed);
  const hbase = { ...hbaseKnobs(createRandom(seed).fork('hbase')), ...favoured };
  const { messages: _, groups: __, ...knobs } = plan.knobs;
  const store = { ordered: false, conditionalBatch: true, tombstones: true, hbase };
  return { ...plan, knobs: { ...knobs, ...store, messages: {} } };
}

function hbaseKnobs(random: Random): HBaseKnobs {
  const sessionMs = random.pick(SESSIONS_MS);
  return {
    servers: random.integer(2, 4),
    events: randomRates(random, CLUSTER_EVENTS, 1),
    calls: randomRates(random, CALL_FAULTS, 0.002),
    moveInBatch: random.pick([0, 0.001, 0.004]),
    delayMsMax: random.pick([1, 2, 10]),
    sessionMs,
    pauseMsMax: random.pick([1.5, 3]) * sessionMs,
    noticeMsMax: random.pick([2, 60]),
    openMsMax: random.pick([2, 40]),
  };
}

const clusters = new WeakMap<World, HBaseCluster>();

/** The cluster of the run; undefined if its store is the model's. */
export function clusterOf(world: World): HBaseCluster | undefined {
  const { seed, timeline } = world;
  const { hbase: knobs } = world.knobs;
  if (knobs === undefined) return undefined;
  let cluster = clusters.get(world);
  if (cluster !== undefined) return cluster;
  cluster = new HBaseCluster(
    { seed, knobs, timeline },
    {
      onApplied: (table, row, protos) => {
        const mutations = mutationsOf(protos);
        world.table(table).mutateRow(row, mutations);
        world.observe(table, row, mutations);
        world.stir(timeline.nowMs);
      },
      onTable: ({ name, schema }, isDropped) => {
        const families = schema.columnFamilies.map((one) => text(one.name));
        if (isDropped) world.tables.delete(name);
        else world.tables.create(name, { families });
      },
    },
  );
  clusters.set(world, cluster);
  return cluster;
}

/** One process's connection to the cluster of the run; undefined if there is none. */
export function hbaseOf(
  world: World,
  process: SimulatedProcess,
  clock: Clock,
): Bigtable | undefined {
  const cluster = clusterOf(world);
  const { seed, timeline } = world;
  const { hbase: knobs } = world.knobs;
  if (cluster === undefined || knobs === undefined) return undefined;
  const connect = connectTo({ seed, knobs, timeline, cluster, process });
  const servers = new Servers({ clock, connect, proofMs: PROOF_MS });
  const { seeds } = cluster;
  const times = { timeoutMs: TIMEOUT_MS, sessionTimeoutMs: knobs.sessionMs };
  return createHBase(servers, { clock, servers: seeds, ...times }).store;
}

/** Ends the faults. The run goes on until a paused server has applied what is in its sockets. */
export function calmCluster(world: World): void {
  const cluster = clusterOf(world);
  if (cluster === undefined) return;
  cluster.troubled = false;
  world.expectUntil(world.timeline.nowMs + 2 * (world.knobs.hbase?.pauseMsMax ?? 0));
}

/** Creates a table with one row before the run begins. */
export function plant(cluster: HBaseCluster, table: string, row: string, mutation: Mutation): void {
  const schema = {
    tableName: { namespace: Buffer.from('default'), qualifier: Buffer.from(table) },
    attributes: [{ first: Buffer.from('coprocessor$1'), second: Buffer.from(ENDPOINT.className) }],
    columnFamilies: [{ name: Buffer.from(mutation.family), attributes: [] }],
  } as unknown as TableSchemaMessage;
  cluster.hbase.createTable(table, schema, []);
  cluster.hbase.apply(table, row, protosOf(Buffer.from(row), [mutation]));
}
