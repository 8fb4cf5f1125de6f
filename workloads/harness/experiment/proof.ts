/**
 * The verdict of a script that proves, in the words of every such script. A proof holds only if
 * everything that was planned has been looked at: an interrupted one has proven nothing, even if it
 * met no violation.
 */
import { counted, formatCount, type Check } from '#results';

export interface Proof {
  /** What is looked at, in the plural: "runs". */
  readonly unit: string;
  readonly planned: number;
  readonly done: number;
  /** What a violation is, as the end of a sentence: "broke a rule". */
  readonly fault: string;
  /** Each violation by its place: "seed 17 (lost update)". */
  readonly found: readonly string[];
}

const NAMED_MAX = 10;

export function verdictOf({ unit, planned, done, fault, found }: Proof): Check {
  const all = counted(planned, unit);
  const whole = done === planned ? all : `the ${formatCount(done)} of ${all} that ended`;
  if (found.length === 0) return { passed: done === planned, detail: `none of ${whole} ${fault}` };
  const named = found.slice(0, NAMED_MAX);
  const more = found.length > named.length ? `, and ${found.length - named.length} more` : '';
  const detail = `${formatCount(found.length)} of ${whole} ${fault}: ${named.join(', ')}${more}`;
  return { passed: false, detail };
}
