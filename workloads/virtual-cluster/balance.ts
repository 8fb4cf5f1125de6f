/**
 * What the master does while all is well: it splits hot tablets, and gives tablets of busy servers
 * to idle ones, by the work of their rows since the last time.
 *
 *     hot tablet ─▶ parts with an equal share of the rows that were asked for
 *     busiest server ── the tablet that evens the two best ──▶ idlest server, until no move helps
 *
 * A single row is never split. Splits and moves take no time here, and no cache gets cold: they
 * stand for the hours in which a cluster comes to rest before an interval is measured.
 */
import { compareKeys } from './key-order.ts';
import type { Machine } from './machine.ts';
import type { Storage } from './storage.ts';
import type { Tablet, Tablets } from './tablets.ts';

/** A tablet with more than this share of a server's mean work is hot. */
const HOT_SHARE = 0.2;
/** Servers whose work differs by less than this share of the mean are even. */
const UNEVEN_SHARE = 0.05;
/** Fewer operations say nothing about a tablet. */
const OPERATIONS_MIN = 32;

interface Load {
  readonly server: Machine;
  readonly tablets: Set<Tablet>;
  workUs: number;
}

export function balanceTablets({ servers, tablets }: Storage): void {
  const alive = servers.filter(({ isAlive }) => isAlive);
  if (alive.length === 0) return;
  const all = tablets.all();
  const meanUs = all.reduce((sum, { recent }) => sum + recent.workUs, 0) / alive.length;
  for (const tablet of all) splitIfHot(tablets, tablet, HOT_SHARE * meanUs);
  evenOut(loadsOf(alive, tablets.all()), UNEVEN_SHARE * meanUs);
  for (const { recent } of tablets.all()) recent.clear();
}

function splitIfHot(tablets: Tablets, { table, recent }: Tablet, limitUs: number): void {
  const { workUs, operations, rows } = recent;
  if (workUs <= limitUs || operations < OPERATIONS_MIN) return;
  const sorted = rows.toSorted(compareKeys);
  const parts = Math.ceil(workUs / limitUs);
  for (let i = 1; i < parts; i++) {
    const row = sorted[Math.floor((i * rows.length) / parts)] ?? '';
    const next = sorted[Math.floor(((i + 1) * rows.length) / parts)];
    tablets.split(table, row);
    // A row that has the work of several parts becomes a tablet of its own.
    if (row === next) tablets.split(table, `${row}\0`);
  }
  recent.clear();
  for (const row of rows) {
    const part = tablets.find(table, row);
    if (part !== undefined) part.recent.workUs += workUs / rows.length;
  }
}

function loadsOf(alive: readonly Machine[], all: readonly Tablet[]): readonly Load[] {
  const loads = new Map<Machine, Load>(
    alive.map((server) => [server, { server, tablets: new Set<Tablet>(), workUs: 0 }]),
  );
  for (const tablet of all) {
    const load = loads.get(tablet.server);
    load?.tablets.add(tablet);
    if (load !== undefined) load.workUs += tablet.recent.workUs;
  }
  return [...loads.values()];
}

/** Each move takes work from the busiest server that has a tablet to give. */
function evenOut(loads: readonly Load[], gapMaxUs: number): void {
  const giving = new Set(loads);
  while (giving.size > 0) {
    const busiest = [...giving].reduce((a, b) => (b.workUs > a.workUs ? b : a));
    const idlest = loads.reduce((a, b) => (b.workUs < a.workUs ? b : a));
    const gapUs = busiest.workUs - idlest.workUs;
    if (gapUs <= gapMaxUs) return;
    const tablet = bestToMove(busiest, gapUs);
    if (tablet === undefined) giving.delete(busiest);
    else move(tablet, busiest, idlest);
  }
}

function move(tablet: Tablet, from: Load, to: Load): void {
  tablet.server = to.server;
  from.tablets.delete(tablet);
  to.tablets.add(tablet);
  from.workUs -= tablet.recent.workUs;
  to.workUs += tablet.recent.workUs;
}

/**
 * The tablet whose work is nearest to half of the gap; undefined if no move would make it smaller.
 */
function bestToMove({ tablets }: Load, gapUs: number): Tablet | undefined {
  let best: Tablet | undefined;
  let distance = gapUs / 2;
  for (const tablet of tablets) {
    const distanceUs = Math.abs(tablet.recent.workUs - gapUs / 2);
    if (distanceUs >= distance) continue;
    [best, distance] = [tablet, distanceUs];
  }
  return best;
}
