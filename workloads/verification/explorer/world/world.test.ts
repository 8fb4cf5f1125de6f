/**
 * The world of the explorer: figure 4 step by step, a crash at each step, and the same run twice.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { textOf } from '../../../../engine/base/index.ts';
import { readChoices, replay, SCENARIOS, tell, verdictOf, writeChoices } from '../engine.ts';
import type { ExplorerScenario } from '../scenario.ts';
import type { ExplorerWorld } from './world.ts';

const TRANSFER = scenarioOf('transfer');
/** From its start until nothing is in flight: a timestamp, two reads, and so on. */
const STEPS = 8;

function scenarioOf(name: string): ExplorerScenario {
  const found = SCENARIOS.find((one) => one.name === name);
  assert.ok(found !== undefined, name);
  return found;
}

/** `data@5=$10`, `lock@7`, as figure 4 draws them. */
async function cellsIn(world: ExplorerWorld, place: string): Promise<string> {
  const cells = (await world.cells()).get(place) ?? [];
  return cells
    .map(({ qualifier, timestamp, value }) => {
      const kind = qualifier.slice(qualifier.indexOf(':') + 1);
      const text = textOf(value).replace(/^0+/, '');
      return `${kind}@${timestamp}${kind === 'lock' ? '' : `=${text}`}`;
    })
    .join(' ');
}

describe('the transfer of figure 4', () => {
  /** What is stored for Bob and for Joe after so many deliveries. */
  const figure: Readonly<Record<number, readonly [string, string]>> = {
    3: ['data@5=$10 write@6=5 put', 'data@5=$2 write@6=5 put'],
    4: ['data@7=$3 data@5=$10 lock@7 write@6=5 put', 'data@5=$2 write@6=5 put'],
    5: ['data@7=$3 data@5=$10 lock@7 write@6=5 put', 'data@7=$9 data@5=$2 lock@7 write@6=5 put'],
    7: [
      'data@7=$3 data@5=$10 write@8=7 put write@6=5 put',
      'data@7=$9 data@5=$2 lock@7 write@6=5 put',
    ],
    8: [
      'data@7=$3 data@5=$10 write@8=7 put write@6=5 put',
      'data@7=$9 data@5=$2 write@8=7 put write@6=5 put',
    ],
  };
  for (const [steps, [bob, joe]] of Object.entries(figure)) {
    test(`after ${steps} messages the cells are those of the figure`, async () => {
      const world = await replay(TRANSFER, readChoices(`s0n${steps}`));
      assert.equal(await cellsIn(world, 'accounts/Bob'), bob);
      assert.equal(await cellsIn(world, 'accounts/Joe'), joe);
    });
  }

  for (let steps = 0; steps <= STEPS; steps++) {
    test(`a crash after ${steps} messages leaves all or nothing, and a reader cleans up`, async () => {
      const choices = `s0${steps === 0 ? '' : `n${steps}`}c0s1n20`;
      const world = await replay(TRANSFER, readChoices(choices));
      const reads = world.log
        .filter((line) => line.includes(':bal: $'))
        .map((line) => line.slice(-3));
      const values = reads.map((text) => text.replace(/^.*\$/, '$'));
      assert.deepEqual(values, steps < 7 ? ['$2', '$10'] : ['$9', '$3']);
      assert.deepEqual(await verdictOf(TRANSFER, readChoices(choices)), []);
    });
  }
});

describe('the world', () => {
  test('is the same, line by line, each time the same choices are taken', async () => {
    for (const scenario of SCENARIOS) {
      const choices = readChoices('s0n3s1n5c0s1n4r0s0n9t6000n9t130000n20');
      const [first, second] = [await replay(scenario, choices), await replay(scenario, choices)];
      assert.ok(first.log.length > 15, `${scenario.name}: ${first.log.length} lines`);
      assert.deepEqual(first.log, second.log);
    }
  });

  test('refuses what is not possible, and nothing happens', async () => {
    const world = await replay(TRANSFER, readChoices('s0'));
    for (const choice of readChoices('s0s7d9k0u0r0t0f1x9')) {
      assert.equal(await world.take(choice), false, writeChoices([choice]));
    }
    assert.deepEqual([world.steps, world.log.length, world.inFlight.length], [1, 1, 1]);
  });

  test('lets a process that is paused hear everything when it goes on', async () => {
    const world = await replay(TRANSFER, readChoices('s0p0n1'));
    assert.equal(world.inFlight.length, 0);
    await world.take({ kind: 'resume', of: 0 });
    assert.equal(world.inFlight.length, 2, 'it reads both accounts');
  });

  test('lets a live owner keep its lock while time passes, and a silent one lose it', async () => {
    const patient = { ...TRANSFER, deathIsKnown: false };
    const looked = 's0n5s1f1f1f1t3000';
    const hasRolledBack = async (text: string): Promise<boolean> => {
      const { log } = await replay(patient, readChoices(text));
      return log.some((line) => line.includes('reader: accounts/Bob: if bal:lock@7 then set'));
    };
    const beats = await replay(patient, readChoices(`${looked}d10`));
    assert.match(beats.log.at(-1) ?? '', /writer: .*"heartbeat":1/);
    assert.equal(await hasRolledBack(`${looked}d10f1f1t3000f1f1f1f1f1`), false);
    assert.equal(await hasRolledBack(`${looked}f1f1t3000f1f1f1f1f1`), true);
  });
});

describe('a picture', () => {
  test('has the shared locks of a cell at that cell, side by side, and then their records', async () => {
    const shared = async (choices: string): Promise<readonly string[]> => {
      const { pictures } = await tell(scenarioOf('shared-limit'), readChoices(choices));
      const rows = pictures.at(-1)?.rows.filter(({ column }) => column === 'limit') ?? [];
      const cells = rows.flatMap((row) => row.cells);
      return cells
        .filter(({ kind }) => kind === 'shared lock' || kind === 'shared write')
        .map(({ kind, timestamp, text }) => `${kind} @ ${timestamp}: ${text}`);
    };
    const locked = 's0f0f0f0s1f1f1f1f0f0f1f1';
    assert.deepEqual(await shared(locked), [
      'shared lock @ 8: of Ben.drawn',
      'shared lock @ 7: of Ann.drawn',
    ]);
    assert.deepEqual(await shared(`${locked}f0f0f0f1f1f1`), [
      'shared write @ 10: of 8',
      'shared write @ 9: of 7',
    ]);
  });

  test('tells the prewrite of a lock without data from a heartbeat', async () => {
    for (const [scenario, choices] of [
      ['locked-ward', 's0f0f0f0'],
      ['shared-limit', 's0f0f0f0'],
    ] as const) {
      const { pictures } = await tell(scenarioOf(scenario), readChoices(choices));
      const lines = pictures.at(-1)?.messages.map(({ line }) => line);
      assert.deepEqual(lines, ['prewrite', 'prewrite'], scenario);
    }
    const patient = { ...TRANSFER, deathIsKnown: false };
    const { pictures } = await tell(patient, readChoices('s0n5t3000'));
    assert.ok(pictures.at(-1)?.messages.some(({ line }) => line === 'heartbeat'));
  });
});

describe('choices as text', () => {
  const examples = ['', 's0', 's0n8', 's0f0f0d12x3a4g5k6c0r0b1p1z1u1t5000', 'n', 'n12s1'];
  for (const text of examples) {
    test(`${text} is read and written back`, () => {
      assert.equal(writeChoices(readChoices(text)), text);
    });
  }

  test('deliveries in a row are counted together', () => {
    assert.equal(writeChoices(readChoices('nn2n')), 'n4');
  });

  for (const text of ['q1', 's', 'S0', '12', 's0;', 'd1234567890', 'n12345']) {
    test(`${text} is refused, and named`, () => {
      assert.throws(() => readChoices(text), { code: 'INVALID_ARGUMENT' });
    });
  }
});
