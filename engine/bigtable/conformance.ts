/**
 * The contract of `bigtable.ts` as tests, which every implementation of a Bigtable must pass.
 *
 * Each implementation's test file calls `conformanceSuite` with a function that opens a store. Each
 * test opens its own store, creates its own table, drops the table and closes the store. A store
 * that outlives its test, such as an emulator, must not hold tables whose names begin with
 * `conformance`.
 *
 * A test's name is a claim of the contract. Behavior that the contract leaves open is not tested:
 * the order of the rows of one `mutateRows`, and which of them are applied when one fails.
 */
import { describe } from 'node:test';
import type { Bigtable } from './bigtable.ts';
import { claimArguments, claimClosing, claimTables } from './conformance/arguments.ts';
import { claimConditionals, claimMutations, claimOrder } from './conformance/mutations.ts';
import { claimRanges, claimReads } from './conformance/reads.ts';
import { claimReverse } from './conformance/reverse.ts';

/** @param open called by each test; opens a store that this test alone uses, and closes */
export function conformanceSuite(name: string, open: () => Promise<Bigtable>): void {
  describe(`${name} is a Bigtable`, () => {
    claimReads(open);
    claimOrder(open);
    claimRanges(open);
    claimReverse(open);
    claimMutations(open);
    claimConditionals(open);
    claimTables(open);
    claimArguments(open);
    claimClosing(open);
  });
}
