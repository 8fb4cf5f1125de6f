/**
 * How much of a profile is a workload's own code: samples whose nearest function of this project,
 * up the stack, is in the workload's folder, so that what it calls of Node counts as well.
 * Collections of garbage are left out: all parts have their share of them.
 */
import type { Profiler } from 'node:inspector';

type Node = Profiler.ProfileNode;

/**
 * @param partOf names the part of a workload that a stack belongs to, from the files of its
 * functions, innermost first; undefined if it is not the workload's
 * @returns microseconds by part
 */
export function ownTime(
  profileJson: string,
  partOf: (files: readonly string[]) => string | undefined,
): ReadonlyMap<string, number> {
  const { nodes, samples = [], timeDeltas = [] } = JSON.parse(profileJson) as Profiler.Profile;
  const stacks = new Stacks(nodes);
  const times = new Map<string, number>();
  for (const [i, id] of samples.entries()) {
    const part = stacks.isOutside(id) ? undefined : partOf(stacks.filesOf(id));
    // A sample stands for the time until the next one.
    const us = timeDeltas[i + 1] ?? 0;
    if (part !== undefined) times.set(part, (times.get(part) ?? 0) + us);
  }
  return times;
}

class Stacks {
  readonly #nodes: ReadonlyMap<number, Node>;
  readonly #parents: ReadonlyMap<number, number>;
  readonly #files = new Map<number, readonly string[]>();

  constructor(nodes: readonly Node[]) {
    this.#nodes = new Map(nodes.map((node) => [node.id, node]));
    this.#parents = new Map(
      nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
    );
  }

  /** Waiting, or collecting garbage, which all parts share. */
  isOutside(id: number): boolean {
    const name = this.#nodes.get(id)?.callFrame.functionName;
    return name === '(idle)' || name === '(garbage collector)';
  }

  /** Of this project, innermost first. */
  filesOf(id: number): readonly string[] {
    const known = this.#files.get(id);
    if (known !== undefined) return known;
    const parent = this.#parents.get(id);
    const outer = parent === undefined ? [] : this.filesOf(parent);
    const url = this.#nodes.get(id)?.callFrame.url ?? '';
    const isOurs = url.startsWith('file:') && !url.includes('/node_modules/');
    const files = isOurs ? [url, ...outer] : outer;
    this.#files.set(id, files);
    return files;
  }
}
