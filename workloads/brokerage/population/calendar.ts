/**
 * Days and hours of trading: 9:00 to 17:00 UTC, Monday to Friday. Elapsed trading time has no gaps;
 * times in rows have them.
 */
export const DAY_MS = 86_400_000;
export const TRADING_DAY_MS: number = 8 * 3_600_000;

/** A Monday: the first day of trading. Everything older is history. */
const FIRST_DAY_MS = Date.UTC(2005, 0, 3);
const OPENING_MS = 9 * 3_600_000;

/** The moment at which the market has been open for `elapsedMs` since the first day of trading. */
export function tradingTime(elapsedMs: number): number {
  const day = Math.floor(elapsedMs / TRADING_DAY_MS);
  const calendarDay = Math.floor(day / 5) * 7 + (day % 5);
  return FIRST_DAY_MS + calendarDay * DAY_MS + OPENING_MS + (elapsedMs % TRADING_DAY_MS);
}

/** The last `count` days of trading before the first trade, oldest first. */
export function daysBefore(count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => {
    const back = count - i; // One day of trading before the first one is a Friday.
    const weeks = Math.floor((back - 1) / 5);
    return FIRST_DAY_MS - (weeks * 7 + 3 + ((back - 1) % 5)) * DAY_MS;
  });
}

/** Midnight of a calendar day, counted from the first day of trading, which is 0. */
export function dayAt(offset: number): number {
  return FIRST_DAY_MS + offset * DAY_MS;
}
