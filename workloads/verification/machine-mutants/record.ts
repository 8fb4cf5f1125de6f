/**
 * The record of a run: what was judged, at which commit, with which outcome. Committed with the
 * results.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { captureEnvironment } from '#results';
import { ROOT } from './folders.ts';
import { isSurvivor, type JudgedMutant, type Row } from './summary.ts';

const FILE = path.join(ROOT, 'results/reference/mutants-machine.json');

interface Result {
  readonly seed: number;
  readonly rows: readonly Row[];
  readonly judged: readonly JudgedMutant[];
  readonly skipped: Readonly<Record<string, number>>;
}

export function writeRecord({ seed, rows, judged, skipped }: Result): void {
  const { commit, nodeVersion, cpuModel } = captureEnvironment(ROOT);
  const byOperator = Map.groupBy(judged, ({ mutant }) => mutant.operator);
  const record = {
    date: new Date().toISOString(),
    commit,
    nodeVersion,
    cpuModel,
    seed,
    folders: rows,
    operators: Object.fromEntries(
      [...byOperator].map(([operator, some]) => [operator, countsOf(some)]),
    ),
    skipped,
    cpuSeconds: Math.round(judged.reduce((sum, { verdict }) => sum + verdict.cpuMs, 0) / 1000),
    survivors: judged.filter(isSurvivor).map(({ mutant, verdict, reason }) => {
      const { file, line, operator, before, after, key } = mutant;
      return { file, line, operator, before, after, key, judges: verdict.judges, reason };
    }),
  };
  writeFileSync(FILE, `${JSON.stringify(record, null, 2)}\n`);
}

function countsOf(judged: readonly JudgedMutant[]): {
  judged: number;
  survived: number;
  explained: number;
} {
  const survivors = judged.filter(isSurvivor);
  const explained = survivors.filter(({ reason }) => reason !== undefined).length;
  return { judged: judged.length, survived: survivors.length, explained };
}
