/**
 * What a judge has found. A broken engine may break a claim thousands of times in one history; the first
 * few say as much as all of them.
 */
import type { Violation } from '../history.ts';

const FINDINGS_MAX = 20;

export class Findings {
  /** In the order found. Invariant: at most `FINDINGS_MAX`. */
  readonly violations: Violation[] = [];
  readonly #judge: string;

  constructor(judge: string) {
    this.#judge = judge;
  }

  add(claim: string, message: string): void {
    if (this.violations.length >= FINDINGS_MAX) return;
    this.violations.push({ claim: `${this.#judge}: ${claim}`, message });
  }
}
