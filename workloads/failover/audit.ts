/** What fsck finds in the whole database when nothing runs any more. */
import { type Bigtable, fsck } from '#engine';
import { counted } from '#results';
import type { CheckResult } from './workload.ts';

const ERRORS_SHOWN = 5;

export async function auditAtRest(
  store: Bigtable,
): Promise<Pick<CheckResult, 'wrong' | 'warnings'>> {
  const findings = await Array.fromAsync(await fsck(store, { waitForLocks: true }));
  const errors = findings.filter(({ severity }) => severity === 'error');
  const hidden = errors.length - ERRORS_SHOWN;
  // By severity, because some codes are errors in one case and warnings in another.
  const warnings = findings.filter(({ severity }) => severity === 'warning');
  const groups = Map.groupBy(warnings, ({ code }) => code);
  return {
    wrong: [
      ...errors.slice(0, ERRORS_SHOWN).map(({ code, sentence }) => `fsck: ${code}: ${sentence}`),
      ...(hidden > 0 ? [`fsck finds ${counted(hidden, 'more errors')}`] : []),
    ],
    warnings: new Map([...groups].map(([code, all]) => [code, all.length])),
  };
}
