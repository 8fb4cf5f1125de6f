/** How garbage is collected while a brokerage runs, by where its rows are. */

/**
 * On the embedded store, a cycle visits the rows that have changed, in some seconds; one that looks
 * at every row of the standard profile takes two minutes, and a few hundredths of a core. Until it
 * is collected, the row of a security has every price that it had since the last cycle, and takes
 * longer to read; PostgreSQL, too, vacuums a table every minute if a fifth of it has changed.
 * Servers look at every row each time, need ten times as long per row and are given fewer rows:
 * collecting must not dominate the measurement. On one machine no message is in flight for as long
 * as this lifetime, unless the store says otherwise.
 */
export const COLLECTING = {
  embedded: { messageLifetimeMs: 10_000, rowsPerStep: 512, pauseMs: 50 },
  servers: { messageLifetimeMs: 10_000, rowsPerStep: 64, pauseMs: 500 },
  /** As fast as it can, on an embedded store at rest: no call is in flight there. */
  atOnce: { messageLifetimeMs: 100, rowsPerStep: 512, pauseMs: 1 },
} as const;
