/**
 * The findings of a judge. A broken engine may break a claim thousands of times in one history.
 * Only the first findings are kept, of all claims together; how often each claim is broken is
 * counted.
 */
import type { Violation } from './history.ts';

const FINDINGS_MAX = 20;

/** A violation with its proof, for a caller that explains it in its own words. */
export interface Finding<Proof> extends Violation {
  readonly proof?: Proof | undefined;
}

export class Findings<Proof = unknown> {
  /** In the order found. Invariant: at most as many as the constructor was told to keep. */
  readonly kept: Finding<Proof>[] = [];
  /** How many were found of each claim, kept or not. */
  readonly counts: Map<string, number> = new Map<string, number>();
  readonly #judge: string;
  readonly #keepMax: number;

  constructor(judge: string, keepMax: number = FINDINGS_MAX) {
    this.#judge = judge;
    this.#keepMax = keepMax;
  }

  get violations(): readonly Violation[] {
    return this.kept.map(({ claim, message }) => ({ claim, message }));
  }

  add(claim: string, message: string, proof?: Proof): void {
    const name = `${this.#judge}: ${claim}`;
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    if (this.kept.length < this.#keepMax) this.kept.push({ claim: name, message, proof });
  }
}
