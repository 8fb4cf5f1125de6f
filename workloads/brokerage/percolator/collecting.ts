/** How garbage is collected while a brokerage runs, by where its rows are. */

/**
 * Cycles must be short: until it is collected, the row of a security has every price that it had
 * since the last cycle, and takes longer to read; PostgreSQL, too, vacuums a table every minute if
 * a fifth of it has changed. On the embedded store, a cycle visits the rows that have changed, in
 * some seconds; one that looks at every row of the standard profile takes two minutes, and a few
 * hundredths of a core. On servers, each cycle looks at every row, and a row takes ten times as
 * long; steps are smaller and further apart, because collecting must not dominate the measurement.
 * On one machine no message is in flight for `messageLifetimeMs`, unless the store says otherwise.
 */
export const COLLECTING = {
  embedded: { messageLifetimeMs: 10_000, rowsPerStep: 512, pauseMs: 50 },
  servers: { messageLifetimeMs: 10_000, rowsPerStep: 64, pauseMs: 500 },
  /** At full speed, on an embedded store at rest: no call is in flight there. */
  atOnce: { messageLifetimeMs: 100, rowsPerStep: 512, pauseMs: 1 },
} as const;
