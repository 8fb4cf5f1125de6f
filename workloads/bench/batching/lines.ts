/** The tables of `./run.sh bench:batching`, and their verdict on the paper's claims. */
import { readTarget } from './findings.ts';
import type { Measured } from './measure-variants.ts';

export function crawlLines(measured: readonly Measured[], concurrency: number): readonly string[] {
  const [off] = measured;
  return [
    'Clustering new documents, per document (the paper: "around 50 individual Bigtable operations"):',
    '',
    ...table(measured, concurrency, 'documents/s'),
    '',
    `This observer looks up ${off === undefined ? '?' : off.readOperations.toFixed(1)} rows and writes a few; ` +
      "the paper's documents went through a dozen observers.",
  ];
}

export function tenColumnsLines(
  measured: readonly Measured[],
  concurrency: number,
): readonly string[] {
  return [
    'Reading ten columns of a row one after the other, per transaction:',
    '',
    ...table(measured, concurrency, 'transactions/s'),
    '',
    ...targetLines(measured),
  ];
}

function targetLines(measured: readonly Measured[]): readonly string[] {
  const { target, measured: found, met } = readTarget(measured);
  return [`${met ? 'Met' : 'NOT met'}: ${target}: with prefetching alone ${found}.`];
}

function table(
  measured: readonly Measured[],
  concurrency: number,
  unit: string,
): readonly string[] {
  const head = [
    'variant',
    'operations',
    'RPCs',
    'read',
    'conditional',
    'blind',
    'scan',
    'wasted cells',
    'CPU',
    unit,
    `median, ${concurrency} at a time`,
    'p99',
    'median, one at a time',
  ];
  const rows = measured.map((one) => [
    one.variant,
    one.operations.toFixed(2),
    one.rpcs.toFixed(2),
    one.readRpcs.toFixed(2),
    one.conditionalRpcs.toFixed(2),
    one.blindRpcs.toFixed(2),
    one.scanRpcs.toFixed(2),
    one.wasted.toFixed(2),
    `${one.cpuMs.toFixed(2)} ms`,
    perSecond(one.perSecond),
    `${one.medianMs.toFixed(2)} ms`,
    one.p99Ms === null ? '-' : `${one.p99Ms.toFixed(2)} ms`,
    `${one.aloneMedianMs.toFixed(2)} ms`,
  ]);
  const all = [head, ...rows];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  '),
  );
}

/** The median repeat, with the lowest and highest if there are several. */
function perSecond(repeats: readonly number[]): string {
  const sorted = repeats.toSorted((a, b) => a - b).map((value) => value.toFixed(0));
  const middle = sorted[Math.floor((sorted.length - 1) / 2)] ?? '?';
  return sorted.length === 1 ? middle : `${middle} (${sorted[0]} to ${sorted.at(-1)})`;
}
