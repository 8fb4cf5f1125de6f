/** The check of a web index: reads the tables, and collects what violates an invariant. */
import type { Percolator } from '#engine';
import type { Capture } from '../model/index.ts';
import { modelFindings } from './against-model.ts';
import { liveFindings, restFindings, type ServingState } from './invariants.ts';
import { readState } from './state.ts';

/** What violates the invariants that hold at every moment. Empty: all is well. */
export async function checkLive(percolator: Percolator): Promise<readonly string[]> {
  await using snapshot = await percolator.snapshot();
  return liveFindings(await readState(snapshot));
}

/**
 * What violates the invariants at rest, when all captures are loaded and no observer has anything
 * to do. Empty: all is well.
 */
export async function checkAtRest(
  percolator: Percolator,
  { captures, serving }: { readonly captures: readonly Capture[]; readonly serving: ServingState },
): Promise<readonly string[]> {
  await using snapshot = await percolator.snapshot();
  const state = await readState(snapshot);
  return [
    ...liveFindings(state),
    ...restFindings(state, serving),
    ...modelFindings(state, captures),
  ];
}
