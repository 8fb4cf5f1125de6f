/**
 * What the master does when a tablet server has died: it notices after a while and gives each
 * tablet to another server. That server replays the tablet's log before it serves the tablet, and
 * replays several logs one after the other.
 *
 *     dies ── detection ──▶ tablets assigned ── replay of the logs ──▶ served
 *
 * The new server of a tablet, here or when tablets are spread, has nothing of it in its cache, so
 * the first read of each block needs the disk. Scans need no disk in this model (call.ts).
 */
import { assert } from '#engine/base';
import type { Machine } from './machine.ts';
import type { Storage } from './storage.ts';
import type { Tablet } from './tablets.ts';

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
