/** Splits tables that were loaded in one piece, and spreads them as Bigtable would have by now. */
import type { Cluster } from '../cluster.ts';

/** Fewer rows are not worth a tablet. */
const ROWS_PER_TABLET_MIN = 8;

/** Each table becomes as many tablets as there are servers, or fewer if it is small. */
export function spreadRows({ storage, tabletServers }: Cluster): void {
  const servers = tabletServers.length;
  let next = 0;
  for (const [name, table] of storage.tables) {
    const families = table.schema.families.map((family) => ({ family }));
    const rows = table.readRange({ limit: Infinity }, families);
    const count = Math.max(1, Math.min(servers, Math.floor(rows.length / ROWS_PER_TABLET_MIN)));
    // Small tables begin at different servers, so that the first server does not hold all of them.
    const first = next;
    next += count;
    for (let i = 1; i < count; i++) {
      const key = rows[Math.floor((i * rows.length) / count)]?.key;
      const server = tabletServers[(first + i) % servers];
      if (key !== undefined && server !== undefined) storage.tablets.split(name, key, server);
    }
    for (const tablet of storage.tablets.all()) if (tablet.table === name) tablet.logBytes = 0;
    const head = storage.tablets.find(name, '');
    const home = tabletServers[first % servers];
    if (head !== undefined && home !== undefined) head.server = home;
  }
}
