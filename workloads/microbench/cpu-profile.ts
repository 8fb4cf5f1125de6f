/**
 * Where the CPU time of this process goes, by sampling: the share of each part of the program,
 * times the CPU time per operation.
 *
 *     engine: transaction, oracle, ...      our own folders below engine/
 *     protobufjs ...                        packages
 *     Node                                  its own modules: http2, streams, ...
 *     garbage collection, native code       what the profiler reports without a file
 *
 * Only the thread that calls this is sampled. The process's other threads (Node's pool, V8's
 * helpers) are in the CPU time, but not in the samples.
 */
import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

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
