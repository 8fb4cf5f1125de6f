/**
 * Formats numbers, in the same way for charts, tables and sentences.
 *
 * This file also runs in the page, so it uses only the language itself, and exports everything
 * (page/html-page.ts says why). It writes only characters of Latin-1: the font of the PNG has
 * few others.
 */

/** A round duration, from an axis or the paper: 0.01 → "10 ms", 1800 → "30 min". */
export function formatDuration(seconds: number): string {
  const { value, unit } = inUnit(seconds);
  return `${formatDigits(value)} ${unit}`;
}

/** A measured duration, "1.30 s": always with three digits, so that a column can be compared. */
export function formatMeasured(seconds: number): string {
  const { value, unit } = inUnit(seconds);
  return `${value < 999.5 ? value.toPrecision(3) : formatCount(value)} ${unit}`;
}

/**
 * Chooses the unit after rounding to three digits, so that it never shows "1000 ms" or "60.0 s".
 */
export function inUnit(seconds: number): { value: number; unit: string } {
  const rounded = Number(seconds.toPrecision(3));
  if (rounded < 1e-3) return { value: seconds * 1e6, unit: '\u00b5s' };
  if (rounded < 1) return { value: Math.max(1, seconds * 1e3), unit: 'ms' };
  if (rounded < 60) return { value: Math.max(1, seconds), unit: 's' };
  if (rounded < 3600) return { value: Math.max(1, seconds / 60), unit: 'min' };
  return { value: Math.max(1, seconds / 3600), unit: 'h' };
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

/** "1 run", "2,000 runs", "1 search". @param unit in the plural */
export function counted(count: number, unit: string): string {
  return `${formatCount(count)} ${count === 1 ? unit.replace(/(?<=ch|ss)es$|s$/, '') : unit}`;
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

/** The latency of a saturated system is unbounded, so its text shows how fast the backlog grows. */
export function formatBacklogGrowth(documentsPerSecond: number): string {
  return `backlog grows ${formatDigits(documentsPerSecond)} documents/s`;
}

/**
 * A text that a user has chosen, such as the name of a file, on one line: what would move the
 * cursor, change colours or turn the direction of writing is escaped.
 */
export function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
