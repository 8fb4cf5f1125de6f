/** The clock that all processes of one machine share: the time since the machine started. */
export function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** With all of the clock's precision, in fractions. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
