/**
 * The clock that all processes of one machine share, in milliseconds. It is not the time of day.
 */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
