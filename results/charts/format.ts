/**
 * How numbers are written, the same in charts, tables and sentences.
 *
 * This file also runs in the page, so it uses nothing but the language, and exports all it has
 * (page/browser-source.ts says why). Only characters of Latin-1: the font of the PNG has no others.
 */

/** 0.0042 → "4.2 ms", 95 → "1.6 min". Three significant digits; two where the unit is small. */
export function formatDuration(seconds: number): string {
  if (seconds < 0.9995e-3) return `${formatDigits(seconds * 1e6)} \u00b5s`;
  if (seconds < 0.9995) return `${formatDigits(seconds * 1e3)} ms`;
  if (seconds < 59.95) return `${formatDigits(seconds)} s`;
  if (seconds < 3597) return `${formatDigits(seconds / 60)} min`;
  return `${formatDigits(seconds / 3600)} h`;
}

/** Three significant digits without trailing zeros; whole numbers from a thousand on. */
export function formatDigits(value: number): string {
  if (value === 0) return '0';
  if (Math.abs(value) >= 999.5) return formatCount(value);
  return String(Number(value.toPrecision(3)));
}

/** 1234567 → "1,234,567". */
export function formatCount(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** A crawl rate: "1 %/h". */
export function formatRate(percentPerHour: number): string {
  return `${formatDigits(percentPerHour)} %/h`;
}

/** 0.925 → "92.5 %". */
export function formatShare(share: number): string {
  return `${formatDigits(share * 100)} %`;
}

/** How many times larger: "830 times", "1.2 times". */
export function formatRatio(ratio: number): string {
  return `${ratio >= 100 ? formatCount(Number(ratio.toPrecision(2))) : Number(ratio.toPrecision(2))} times`;
}

export function formatSystem(system: 'percolator' | 'mapreduce'): string {
  return system === 'percolator' ? 'Percolator' : 'MapReduce';
}

/** The latency of a saturated system is unbounded; what can be said is how fast it falls behind. */
export function formatBacklogGrowth(documentsPerSecond: number): string {
  return `backlog grows ${formatDigits(documentsPerSecond)} documents/s`;
}
