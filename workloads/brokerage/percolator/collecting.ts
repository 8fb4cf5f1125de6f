/** How garbage is collected while a brokerage runs, by where its rows are. */

/**
 * On the embedded store, a cycle over half a million rows, somewhat more than the standard profile
 * loads, takes two minutes, and a few hundredths of a core. Until it is collected, the row of a
 * security has every price that it had since the last cycle, and takes longer to read; PostgreSQL,
 * too, vacuums a table every minute if a fifth of it has changed. Servers need ten times as long
 * per row and are given fewer rows: collecting must not dominate the measurement. On one machine no
 * message is in flight for as long as this lifetime, unless the store says otherwise.
 */
export const COLLECTING = {
  embedded: { messageLifetimeMs: 10_000, rowsPerStep: 512, pauseMs: 50 },
  servers: { messageLifetimeMs: 10_000, rowsPerStep: 64, pauseMs: 500 },
} as const;
