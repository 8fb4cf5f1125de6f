/** The clock that all processes of one machine share: microseconds since the machine started. */
export function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}
