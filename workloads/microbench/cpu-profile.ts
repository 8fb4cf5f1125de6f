/**
 * Where the CPU time of this process goes, by sampling: the share of each part of the program,
 * times the CPU time per operation; with `--profile-cpu` for each case of figure 8 and each message
 * of a transaction.
 *
 *     engine: transaction, oracle, ...      our own folders below engine/
 *     protobufjs ...                        packages
 *     Node                                  its own modules: http2, streams, ...
 *     garbage collection, native code       what the profiler reports without a file
 *
 * Only the thread that calls this is sampled. The process's other threads (Node's pool, V8's
 * helpers) are in the CPU time, but not in the samples.
 */
import { writeFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { sum } from 'simple-statistics';
import { column, resultTable, type ResultTable } from '#results';
import { closedLoop } from '../harness/load/loops.ts';
import type { BenchStore } from './bench-store.ts';
import type { MicroCase, Slices } from './case.ts';
import { costOf, type MeasuredStore, rateOf, type Watched } from './figure-8.ts';
import { figure8Cases } from './figure-8-cases.ts';
import type { MicroPlan } from './plan.ts';

/** A profile takes as long as this many slices: with fewer samples the small parts are noise. */
const SLICES = 6;
/** Characters of the store's name in the name of a file. */
const STORE_LENGTH = 100;

/** Profiles by the names of their cases; each is also written into the folder of the run. */
export async function profileCases(
  bench: BenchStore,
  plan: MicroPlan,
  { signal, onPhase }: Watched,
  slices: Slices,
): Promise<ReadonlyMap<string, CpuProfile>> {
  const profiles = new Map<string, CpuProfile>();
  for (const one of figure8Cases(bench.percolator, bench.data, bench).flat()) {
    const first = bench.nextOperations();
    for (let step: MicroCase | undefined = one; step !== undefined; step = step.followedBy) {
      onPhase(`${bench.name}: profile of ${step.name}`);
      const wanted = rateOf(slices, step.name).value * plan.seconds * SLICES;
      const operations = Math.max(1, Math.min(plan.rows, Math.round(wanted)));
      const { operate, prepare, settle } = step;
      await prepare?.(first, operations);
      // A case and its `followedBy` share the rows; each row is used once.
      const run = { first, operations: one.followedBy === undefined ? operations : plan.rows };
      const profile = await profileCpu(run.operations, async () => {
        await closedLoop(operate, { ...run, concurrency: plan.concurrency, signal });
        await settle?.();
      });
      profiles.set(step.name, profile);
      writeFileSync(path.join(plan.out, profileFile(bench.name, step.name)), profile.json);
    }
  }
  return profiles;
}

/**
 * An address of a store may have more than the 255 characters of a file name: its middle is cut.
 */
export function profileFile(store: string, name: string): string {
  const half = STORE_LENGTH / 2;
  const shown =
    store.length <= STORE_LENGTH ? store : `${store.slice(0, half)} ${store.slice(-half)}`;
  const words = `${shown} ${name}`;
  return `${words.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}.cpuprofile`;
}

export interface ProfilePart {
  readonly name: string;
  /** Microseconds per operation. */
  readonly us: number;
}

export interface CpuProfile {
  readonly parts: readonly ProfilePart[];
  /** The functions with the largest self time. */
  readonly functions: readonly ProfilePart[];
  /** In the `.cpuprofile` format, which Chrome and other tools read. */
  readonly json: string;
}

const SAMPLE_US = 200;
const FUNCTIONS_MAX = 12;
const ROOT = path.dirname(path.dirname(import.meta.dirname));

/** Profiles `work`, which performs `operations` operations. */
export async function profileCpu(
  operations: number,
  work: () => Promise<void>,
): Promise<CpuProfile> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_US });
    await session.post('Profiler.start');
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    const { profile } = await session.post('Profiler.stop');
    return { ...shares(profile, (user + system) / operations), json: JSON.stringify(profile) };
  } finally {
    session.disconnect();
  }
}

type Profile = Profiler.Profile;

function shares(
  { nodes, samples = [] }: Profile,
  usPerOperation: number,
): Pick<CpuProfile, 'parts' | 'functions'> {
  const byId = new Map(nodes.map((node) => [node.id, node.callFrame]));
  const parts = new Map<string, number>();
  const functions = new Map<string, number>();
  let counted = 0;
  for (const id of samples) {
    const frame = byId.get(id);
    if (frame === undefined || frame.functionName === '(idle)') continue;
    counted++;
    const part = partOf(frame.functionName, frame.url);
    parts.set(part, (parts.get(part) ?? 0) + 1);
    const name = `${frame.functionName || '(anonymous)'} (${part})`;
    functions.set(name, (functions.get(name) ?? 0) + 1);
  }
  const inOrder = (counts: ReadonlyMap<string, number>): ProfilePart[] =>
    [...counts]
      .map(([name, count]) => ({ name, us: (count / Math.max(1, counted)) * usPerOperation }))
      .toSorted((a, b) => b.us - a.us);
  return { parts: inOrder(parts), functions: inOrder(functions).slice(0, FUNCTIONS_MAX) };
}

function partOf(functionName: string, url: string): string {
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName.startsWith('(') || url === '') return 'native code';
  if (url.startsWith('node:')) return 'Node';
  const file = url.startsWith('file:') ? fileURLToPath(url) : url;
  const pack = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1];
  if (pack !== undefined) return pack;
  const [top = '', folder = ''] = path.relative(ROOT, file).split(path.sep);
  return top === 'engine' && !folder.endsWith('.ts') ? `engine: ${folder}` : top;
}

/** A store with its profiles; none unless `--profile-cpu` asks for them. */
export interface ProfiledStore extends MeasuredStore {
  readonly profiles: ReadonlyMap<string, CpuProfile>;
}

/** Columns of the profile, and the parts that belong in each; the first match counts. */
const PROFILE_COLUMNS: readonly (readonly [column: string, isPart: (part: string) => boolean])[] = [
  ['storage client', (part) => part === 'engine: bigtable'],
  ['engine', (part) => part.startsWith('engine')],
  ['Node', (part) => part === 'Node'],
  ['native', (part) => part === 'native code'],
  ['garbage collection', (part) => part === 'garbage collection'],
  ['benchmark', (part) => part === 'workloads'],
  ['packages', () => true],
];

export function profileTable(results: readonly ProfiledStore[]): ResultTable {
  return resultTable(
    {
      name: 'profile',
      title: 'Where the client’s CPU time goes',
      caption:
        'Microseconds per operation by part of the program, from sampling profiles, which are in the folder of the run ' +
        '(sampling itself takes time, too). The storage client is engine/bigtable; packages are protobufjs and the like.',
    },
    results.flatMap(profiledOperations),
    [
      column('store', ({ store }) => store),
      column('operation', ({ of }) => of),
      ...PROFILE_COLUMNS.map(([title], i) =>
        column<ProfiledOperation>(title, ({ sums }) => sums[i] ?? 0),
      ),
      column('client CPU us', ({ sums }) => sum(sums)),
      column('server CPU us', ({ serverUs }) => serverUs),
    ],
  );
}

interface ProfiledOperation {
  readonly store: string;
  readonly of: string;
  /** The time of each column, in microseconds. */
  readonly sums: readonly number[];
  readonly serverUs: number | null;
}

function profiledOperations({
  name,
  figure8,
  profiles,
}: ProfiledStore): readonly ProfiledOperation[] {
  return [...profiles].map(([of, { parts }]) => {
    const sums = PROFILE_COLUMNS.map(() => 0);
    for (const part of parts) {
      const at = PROFILE_COLUMNS.findIndex(([, isPart]) => isPart(part.name));
      sums[at] = (sums[at] ?? 0) + part.us;
    }
    // The benchmark's process is profiled, and the embedded storage runs in it, with --processes
    // too.
    const serverUs = name === 'embedded' ? null : costOf(figure8.slices, of).serverUs;
    return { store: name, of, sums, serverUs };
  });
}
