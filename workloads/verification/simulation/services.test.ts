/** Errors of the simulated oracle travel to the process that asked, as its other answers do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '../../../engine/base/index.ts';
import { ORACLE_TABLE } from '../../../engine/oracle/index.ts';
import { clockOf } from './machine.ts';
import { planOf } from './plan.ts';
import { SimulatedProcess } from './process.ts';
import { OracleService } from './services.ts';
import { World } from './world.ts';

/** Longer than the oracle needs to answer, and shorter than the client waits for an answer. */
const PAUSE_MS = 200;
const MORE_THAN_THERE_ARE = Number.MAX_SAFE_INTEGER;

/**
 * A client that asked for a horizon above all timestamps, and when it heard the answer.
 *
 * @param families of the oracles' table, if it is there before the oracles
 */
function scene(families?: readonly string[]): {
  readonly world: World;
  readonly client: SimulatedProcess;
  readonly heard: { code?: string; atMs?: number };
} {
  const { knobs } = planOf(1);
  const quiet = { messages: {}, events: {}, groups: {}, delayMsMax: 10, deadlineMs: 100 };
  const world = new World(1, { ...knobs, ...quiet, leasedOracles: false });
  if (families !== undefined) world.tables.create(ORACLE_TABLE, { families });
  const client = new SimulatedProcess(world.timeline, { name: 'client', id: 1 }, () => {});
  const heard: { code?: string; atMs?: number } = {};
  const machine = { process: client, clock: clockOf(world, client) };
  const oracle = new OracleService(world).clientFor(machine);
  oracle.raiseHorizon(MORE_THAN_THERE_ARE).catch((error: unknown) => {
    assert.ok(error instanceof PercolatorError);
    heard.code = error.code;
    heard.atMs = world.timeline.nowMs;
  });
  return { world, client, heard };
}

test('a client hears the error of an oracle', async () => {
  const { world, heard } = scene();
  await world.timeline.run(() => heard.code !== undefined);
  assert.equal(heard.code, 'INVALID_ARGUMENT');
});

test('a client hears why an oracle could not be opened', async () => {
  const { world, heard } = scene(['another']);
  await world.timeline.run(() => heard.code !== undefined);
  assert.equal(heard.code, 'TABLE_MISMATCH');
});

test('a paused client hears the error of an oracle when it continues', async () => {
  const { world, client, heard } = scene();
  world.timeline.at(0, () => client.emit(() => client.pause(PAUSE_MS)));
  await world.timeline.run(() => heard.code !== undefined);
  assert.equal(heard.code, 'INVALID_ARGUMENT');
  assert.ok((heard.atMs ?? 0) >= PAUSE_MS, `it heard the error after ${heard.atMs} ms`);
});

test('a dead client hears no error of an oracle', async () => {
  const { world, client, heard } = scene();
  world.timeline.at(1, () => client.kill());
  await world.timeline.run(() => false);
  assert.equal(heard.code, undefined);
});
