/**
 * What engine and HBase cost on this machine, from two records of `bench:micro` on HBase:
 *
 *     many callers    the processor time of clients and servers that an operation takes
 *     one caller      how long an operation takes: what is not processor time is the round trip, and
 *                     for a write the wait for the log
 *
 * Clients and servers are processes of one machine and share its cores.
 */
import { numberIn, type RunRecord } from '#results';
import { NAMES } from '../../microbench/figure-8-cases.ts';
import type { Entry } from './calibration.ts';
import { assumed, type Change, must } from './change.ts';

export interface HBaseRecords {
  /** With many callers. */
  readonly busy: RunRecord;
  /** With one caller. */
  readonly alone: RunRecord;
}

type Side = 'client' | 'server';
type Value = Omit<Entry, 'unit'>;

/** The cells of a prewrite (lock, data), and those of a commit (write record, erased lock). */
const CONDITIONAL_CELLS = 2;
const P99_TIMES = 10;

export function hbaseCosts({ busy, alone }: HBaseRecords): readonly Change[] {
  const cpu = (side: Side, operation: string): number =>
    must(busy, numberIn(busy, 'processor', `${side} CPU us`, 'hbase', operation), operation);
  const lone = (operation: string): number =>
    must(alone, numberIn(alone, 'processor', 'us', 'hbase', operation), operation);
  const both = (operation: string): number => cpu('client', operation) + cpu('server', operation);
  const value = (us: number, what: string): Value => ({
    value: Math.max(0, us),
    source: `run ${busy.runId}, processor time of ${what}`,
  });
  const messages = (side: Side): number =>
    (cpu(side, NAMES.prewriteMessage) + cpu(side, NAMES.commitMessage)) / 2;
  const timestamp = cpu('client', NAMES.timestamp);
  const engineRead = cpu('client', NAMES.read) - cpu('client', NAMES.readMessage) - timestamp;
  const engineWrite = cpu('client', NAMES.write) / 2 - messages('client') - timestamp;
  const raw = { client: cpu('client', NAMES.rawRead), server: cpu('server', NAMES.rawRead) };
  // The message of a read finds a write record and the data, a raw read one cell.
  const cell = Math.max(0, cpu('client', NAMES.readMessage) - raw.client);
  const callUs = raw.client - cell;
  const kind = (name: string, server: Value, client: Value): readonly Change[] => [
    [`storage.${name}.fixed.serverUs`, server],
    [`storage.${name}.fixed.clientUs`, client],
    [`storage.${name}.perCell.serverUs`, assumed(0, 'part of the measured operations')],
    [`storage.${name}.perCell.clientUs`, value(cell, 'a read of two cells less one of one')],
  ];
  const roundTrip = Math.max(1, lone(NAMES.rawRead) - both(NAMES.rawRead));
  const wait = Math.max(1, lone(NAMES.rawWrite) - both(NAMES.rawWrite) - roundTrip);
  const took = (what: string): string => `run ${alone.runId}, ${what} of one caller`;
  return [
    ['storage.call.fixed.serverUs', value(raw.server / 2, 'half a raw read')],
    ['storage.call.fixed.clientUs', value(callUs, 'a raw read, less a cell')],
    ['storage.call.perByte.serverNs', assumed(1, 'not measured')],
    ['storage.call.perByte.clientNs', assumed(1, 'not measured')],
    ...kind(
      'read',
      value(raw.server / 2, 'half a raw read'),
      value(engineRead, 'the engine around a read'),
    ),
    ...kind(
      'mutate',
      value(cpu('server', NAMES.rawWrite) - raw.server / 2, 'a raw write, less the call'),
      value(cpu('client', NAMES.rawWrite) - callUs - cell, 'a raw write, less the call'),
    ),
    ...kind(
      'conditionalMutate',
      value(messages('server') - raw.server / 2, 'prewrite and commit, less the call'),
      value(
        messages('client') - callUs - CONDITIONAL_CELLS * cell + engineWrite,
        'prewrite and commit, with the engine, less the call',
      ),
    ),
    ...kind(
      'scan',
      value(raw.server / 2, 'half a raw read'),
      value(engineRead, 'the engine around a read'),
    ),
    ['storage.writtenByteNs', assumed(0, 'part of what any byte costs')],
    ['storage.batchedRowUs', assumed(0, 'nothing is batched')],
    ['log.perGroupUs', assumed(0, 'part of the measured writes')],
    ['log.perGroupAsideUs', assumed(0, 'part of the measured writes')],
    ['log.perUnsyncedGroupUs', assumed(0, 'the log has no groups here')],
    ['log.waitAfterIdleUs', assumed(0, 'HBase was not measured after pauses')],
    ['idle.refillUs', assumed(0, 'HBase was not measured after pauses')],
    ['log.wait.medianUs', { value: wait, source: took('a raw write less a raw read') }],
    ['log.wait.p99Us', assumed(P99_TIMES * wait, 'ten times the median')],
    ['network.roundTrip.medianUs', { value: roundTrip, source: took('a raw read less its work') }],
    ['network.roundTrip.p99Us', assumed(P99_TIMES * roundTrip, 'ten times the median')],
  ];
}
