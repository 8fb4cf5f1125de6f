/**
 * What a process that judges mutants watches in itself: which code of the engine has run, by V8's
 * counts, as ranges of each file's text; and whether it waits, for a timer, an answer, or an event
 * that never comes.
 */
import { Session } from 'node:inspector/promises';
import path from 'node:path';
import type { EventLoopUtilization } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { ReachedRanges } from './bench.ts';

const session = new Session();

/** To be called before the engine is loaded. */
export async function startMeasuring(): Promise<void> {
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
}

/**
 * What has run since `startMeasuring` or the last call, by file, whose path is from the root. Node
 * replaces types with spaces, so positions are those of the file.
 */
export async function reachedBy(root: string): Promise<ReachedRanges> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const reached: Record<string, readonly (readonly [number, number])[]> = {};
  for (const { url, functions } of result) {
    if (!url.startsWith('file:')) continue;
    const file = path.relative(root, fileURLToPath(url)).replaceAll(path.sep, '/');
    if (!/^engine\/.*\.ts$/.test(file) || file.includes('.test.')) continue;
    reached[file] = rangesOf(functions.flatMap(({ ranges }) => ranges));
  }
  return reached;
}

interface CountedRange {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** The count of an inner range overrides those of the ranges around it. */
export function rangesOf(counted: readonly CountedRange[]): readonly (readonly [number, number])[] {
  const outerFirst = counted.toSorted(
    (a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset,
  );
  const length = Math.max(0, ...counted.map(({ endOffset }) => endOffset));
  const isReached = new Uint8Array(length + 1);
  for (const { startOffset, endOffset, count } of outerFirst) {
    isReached.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  }
  const ranges: (readonly [number, number])[] = [];
  let start = -1;
  for (const [at, reached] of isReached.entries()) {
    if (reached === 1 && start < 0) start = at;
    if (reached === 0 && start >= 0) {
      ranges.push([start, at]);
      start = -1;
    }
  }
  return ranges;
}

/** An event loop that works for less than this share of the time counts as idle. */
const BUSY_SHARE = 0.1;

/**
 * The event loop decides, not processor time: a process that has work, but gets no processor on a
 * busy machine, does not wait.
 */
export function isWaiting(before: EventLoopUtilization, after: EventLoopUtilization): boolean {
  const active = after.active - before.active;
  const idle = after.idle - before.idle;
  return active < BUSY_SHARE * (active + idle);
}
