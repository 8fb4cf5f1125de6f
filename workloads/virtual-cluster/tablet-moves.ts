/**
 * The master, which moves tablets from server to server.
 *
 * When a tablet server has died, it notices after a while and gives each tablet to another server.
 * That server replays the tablet's log before it serves the tablet, and replays several logs one
 * after the other.
 *
 *     dies ── detection ──▶ tablets assigned ── replay of the logs ──▶ served
 *
 * The new server of a tablet, here or when tablets are spread, has nothing of it in its cache, so
 * the first read of each block needs the disk. Scans need no disk in this model (call.ts).
 */
import { assert } from '#engine/base';
import { compareKeys } from '../verification/world/table.ts';
import type { Machine } from './machine.ts';
import type { Storage } from './storage.ts';
import type { Tablet, Tablets } from './tablets.ts';

export function loadTablets(storage: Storage, dead: Machine): void {
  const { loop, costs } = storage;
  const { detectionMs } = costs.calibration.failures;
  const happen = (): void => assignTablets(storage, dead);
  loop.at(dead.diedUs + detectionMs * 1000, { happen });
}

function assignTablets(storage: Storage, dead: Machine): void {
  const { loop, servers, tablets } = storage;
  const alive = servers.filter((server) => server.isAlive);
  assert(alive.length > 0, 'a tablet server is alive when the death of another is noticed');
  const freeUs = new Map(alive.map((server) => [server, loop.nowUs]));
  // A server may still replay logs of another one that died.
  for (const { server, availableUs } of tablets.all()) {
    const known = freeUs.get(server);
    if (known !== undefined) freeUs.set(server, Math.max(known, availableUs));
  }
  tablets.of(dead).forEach((tablet, i) => {
    const server = alive[i % alive.length] as Machine;
    const fromUs = freeUs.get(server) ?? loop.nowUs;
    freeUs.set(server, moveTablet(storage, tablet, { dead, server, fromUs }));
  });
}

/**
 * Moves tablets from servers that have more than their share of a table to those that have less.
 * The old server has first written to files what its log holds, so there is nothing to replay.
 */
export function spreadTablets(storage: Storage): void {
  const { servers, tablets } = storage;
  const alive = servers.filter((server) => server.isAlive);
  for (const ofTable of Map.groupBy(tablets.all(), ({ table }) => table).values()) {
    const share = Math.ceil(ofTable.length / Math.max(1, alive.length));
    const had = new Map<Machine, number>();
    const surplus = ofTable.filter(({ server }) => {
      const count = (had.get(server) ?? 0) + 1;
      had.set(server, count);
      return server.isAlive && count > share;
    });
    for (const server of alive) {
      const missing = Math.min(share - (had.get(server) ?? 0), surplus.length);
      for (const tablet of surplus.splice(0, Math.max(0, missing))) {
        tablet.server = server;
        tablet.logBytes = 0;
        storage.chill(tablet);
      }
    }
  }
}

/** Moves a tablet; returns when it will be served: after a replay of its log. */
function moveTablet(
  storage: Storage,
  tablet: Tablet,
  {
    dead,
    server,
    fromUs,
  }: { readonly dead: Machine; readonly server: Machine; readonly fromUs: number },
): number {
  const { logReplayBytesPerSecond } = storage.costs.calibration.failures;
  const hasReplayed = tablet.availableUs <= dead.diedUs;
  tablet.replayBytes = tablet.logBytes + (hasReplayed ? 0 : tablet.replayBytes);
  tablet.logBytes = 0;
  tablet.server = server;
  storage.chill(tablet);
  tablet.availableUs = fromUs + (tablet.replayBytes / logReplayBytesPerSecond) * 1e6;
  return tablet.availableUs;
}

/*
 * While all is well, the master splits hot tablets, and gives tablets of busy servers
 * to idle ones, by the work of their rows since the last time.
 *
 *     hot tablet ─▶ parts with an equal share of the rows that were asked for
 *     busiest server ── the tablet that evens the two best ──▶ idlest server, until no move helps
 *
 * A single row is never split. Splits and moves take no time here, and no cache gets cold: they
 * stand for the hours in which a cluster comes to rest before an interval is measured.
 */

/** A tablet with more than this share of a server's mean work is hot. */
const HOT_SHARE = 0.2;
/** Servers whose work differs by less than this share of the mean are even. */
const UNEVEN_SHARE = 0.05;
/** Fewer operations say nothing about a tablet. */
const OPERATIONS_MIN = 32;

interface ServerLoad {
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

function loadsOf(alive: readonly Machine[], all: readonly Tablet[]): readonly ServerLoad[] {
  const loads = new Map<Machine, ServerLoad>(
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
function evenOut(loads: readonly ServerLoad[], gapMaxUs: number): void {
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

function move(tablet: Tablet, from: ServerLoad, to: ServerLoad): void {
  tablet.server = to.server;
  from.tablets.delete(tablet);
  to.tablets.add(tablet);
  from.workUs -= tablet.recent.workUs;
  to.workUs += tablet.recent.workUs;
}

/**
 * The tablet whose work is nearest to half of the gap; undefined if no move would make it smaller.
 */
function bestToMove({ tablets }: ServerLoad, gapUs: number): Tablet | undefined {
  let best: Tablet | undefined;
  let distance = gapUs / 2;
  for (const tablet of tablets) {
    const distanceUs = Math.abs(tablet.recent.workUs - gapUs / 2);
    if (distanceUs >= distance) continue;
    [best, distance] = [tablet, distanceUs];
  }
  return best;
}
