/**
 * The monotonic clock that all processes of one machine share. On Linux it stops while the machine
 * is suspended.
 */
export function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** Milliseconds of the same clock, with a fraction: not rounded to microseconds. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
