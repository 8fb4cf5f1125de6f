/** What fsck finds in the whole database when nothing runs any more. */
import { type Bigtable, fsck } from '#engine';
import type { CheckResult } from './workload.ts';

const ERRORS_SHOWN = 5;

export async function auditAtRest(
  store: Bigtable,
): Promise<Pick<CheckResult, 'wrong' | 'warnings'>> {
  const findings = await Array.fromAsync(await fsck(store, { waitForLocks: true }));
  const errors = findings.filter(({ severity }) => severity === 'error');
  const hidden = errors.length - ERRORS_SHOWN;
  const groups = Map.groupBy(findings, ({ code }) => code);
  const warnings = [...groups].filter(([, [first]]) => first?.severity === 'warning');
  return {
    wrong: [
      ...errors.slice(0, ERRORS_SHOWN).map(({ code, sentence }) => `fsck: ${code}: ${sentence}`),
      ...(hidden > 0 ? [`fsck finds ${hidden} more errors`] : []),
    ],
    warnings: new Map(warnings.map(([code, all]) => [code, all.length])),
  };
}
