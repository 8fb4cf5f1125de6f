/** The log of an HBase 2.6 in which one of two servers was killed, and came back. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failoverOf, readEvents } from './cluster-log.ts';

const RPC = 'INFO [RpcServer.priority.RWQ.Fifo.write.handler=0,queue=0,port=34135]';
const STORE = 'INFO [PEWorker-7] assignment.RegionStateStore: pid=18';
const [A, B, B_AGAIN] = ['127.0.0.1,33683,1', '127.0.0.1,41725,2', '127.0.0.1,41725,3'];

function opened(time: string, region: string, server: string): string {
  const state = `updating hbase:meta row=${region}, regionState=OPEN, openSeqNum=2`;
  return `2026-11-24T07:20:${time}Z ${STORE} ${state}, regionLocation=${server}`;
}

function closed(time: string, region: string): string {
  return `2026-11-24T07:20:${time}Z ${STORE} updating hbase:meta row=${region}, regionState=CLOSED`;
}

const BEFORE = [
  `2026-11-24T07:20:04,355Z ${RPC} master.ServerManager: Registering regionserver=${A}`,
  `2026-11-24T07:20:04,437Z ${RPC} master.ServerManager: Registering regionserver=${B}`,
  `2026-11-24T07:20:16,022Z ${STORE} updating hbase:meta row=aa, regionState=OPENING, regionLocation=${A}`,
  opened('16,302', 'aa', A),
  opened('16,569', 'bb', B),
  opened('16,600', 'cc', B),
];
const KILLED_MS = at('18,000');
const DEAD = `2026-11-24T07:20:24,656Z INFO [RegionServerTracker-0] master.RegionServerTracker: RegionServer ephemeral node deleted, processing expiration [${B}]`;
const MOVED = [opened('30,057', 'bb', A), opened('30,785', 'cc', A)];
const BACK = `2026-11-24T07:20:50,887Z ${RPC} master.ServerManager: Registering regionserver=${B_AGAIN}`;

function at(time: string): number {
  return Date.parse(`2026-11-24T07:20:${time.replace(',', '.')}Z`);
}

function failover(...lines: readonly string[]): ReturnType<typeof failoverOf> {
  const log = ['no event', ...BEFORE, ...lines].join('\n');
  return failoverOf(readEvents(log), { killedMs: KILLED_MS, servers: 1 });
}

describe('the log of the master says', () => {
  test('when a server was found dead, its regions were served again, and it came back', () => {
    assert.deepEqual(failover(DEAD, ...MOVED, BACK), {
      detectedMs: at('24,656'),
      regions: 2,
      reassignedMs: at('30,785'),
      returnedMs: at('50,887'),
    });
  });

  test('that not every region is served again, and that the server is not back', () => {
    const { detectedMs, reassignedMs, returnedMs } = failover(DEAD, ...MOVED.slice(1));
    assert.deepEqual(
      { detectedMs, reassignedMs, returnedMs },
      { detectedMs: at('24,656'), reassignedMs: undefined, returnedMs: undefined },
    );
  });

  test('that a second killed server was not found dead', () => {
    const events = readEvents([...BEFORE, DEAD, ...MOVED].join('\n'));
    const { detectedMs } = failoverOf(events, { killedMs: KILLED_MS, servers: 2 });
    assert.equal(detectedMs, undefined);
  });

  test('no moment at which the regions were served again, if the server had none', () => {
    const events = readEvents([DEAD.replace(B, '127.0.0.1,50000,9'), BACK].join('\n'));
    const { regions, reassignedMs } = failoverOf(events, { killedMs: KILLED_MS, servers: 1 });
    assert.deepEqual({ regions, reassignedMs }, { regions: 0, reassignedMs: undefined });
  });

  test('which regions a server had last; those that it had only before do not count', () => {
    assert.equal(failover(opened('17,000', 'cc', A), DEAD).regions, 1);
  });

  test('which regions were closed before: a server no longer had one that was split', () => {
    const split = [closed('17,000', 'cc'), opened('17,100', 'c1', B), opened('17,100', 'c2', A)];
    const moved = [opened('30,057', 'bb', A), opened('30,785', 'c1', A)];
    const { regions, reassignedMs } = failover(...split, DEAD, ...moved);
    assert.deepEqual({ regions, reassignedMs }, { regions: 2, reassignedMs: at('30,785') });
  });

  test('the time in UTC, whatever the time zone of this process', (t) => {
    const { TZ } = process.env;
    t.after(() => {
      if (TZ === undefined) delete process.env['TZ'];
      else process.env['TZ'] = TZ;
    });
    process.env['TZ'] = 'America/New_York';
    // There, the clocks have just been set back: it is half past one for the second time.
    const line = DEAD.replace('2026-11-24T07:20:24,656', '2026-11-01T06:30:00,000');
    assert.deepEqual(
      readEvents(line).map(({ atMs }) => atMs),
      [Date.UTC(2026, 10, 1, 6, 30)],
    );
  });
});
