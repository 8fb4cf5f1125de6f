/**
 * The number with `digits` significant digits, for tables; null for null, and for a number that is
 * not finite.
 */
export function rounded(value: number | null, digits = 4): number | null {
  return value !== null && Number.isFinite(value) ? Number(value.toPrecision(digits)) : null;
}
