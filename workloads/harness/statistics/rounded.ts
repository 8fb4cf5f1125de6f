/** Four significant digits, for tables; null for a number that is not finite, or is unknown. */
export function rounded<T extends number | null>(value: T, digits = 4): T {
  const isKnown = value !== null && Number.isFinite(value);
  return (isKnown ? Number(value.toPrecision(digits)) : null) as T;
}
