/** How a point ends: which documents are waited for, and which are dropped. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { systemClock } from '#engine';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import { createLatencyHistogram } from '#results';
import type { Crew } from '../../harness/processes/index.ts';
import { EngineProcesses, type EngineOptions } from './point.ts';

interface Message {
  readonly kind: string;
}

/** Processes with one worker, which only says what it is told to say. */
async function startSilent(options: Partial<EngineOptions> = {}): Promise<{
  readonly processes: EngineProcesses;
  readonly heard: readonly string[];
  readonly say: (message: Message) => void;
}> {
  const heard: string[] = [];
  let say: (message: Message) => void = () => {};
  const crew = {
    start: async ({ onMessage }: { onMessage: typeof say }) => {
      say = onMessage;
      return { send: ({ kind }: Message) => void heard.push(kind) };
    },
    during: (work: unknown) => work,
    stop: async () => [],
  };
  const processes = new EngineProcesses(crew as unknown as Crew, () => {});
  await processes.start({ processes: undefined, ...options } as EngineOptions);
  return { processes, heard, say };
}

const histogram = encodeIntoCompressedBase64(createLatencyHistogram());
const RESULT = { kind: 'result', halves: [histogram, histogram], commits: [] };

test('documents that still wait at the end are loaded and measured before the rest is dropped', async () => {
  const { processes, heard, say } = await startSilent();
  const finished = processes.finish(10);
  say({ kind: 'progress', completed: 9 } as Message);
  await setTimeout(50); // The processes look every 5 ms.
  assert.ok(!heard.includes('finish'), 'the tenth document would be dropped');
  say({ kind: 'progress', completed: 10 } as Message);
  await setTimeout(50);
  assert.equal(heard.at(-1), 'finish');
  say({ kind: 'loaded', documents: 10 } as Message);
  await setTimeout(50);
  say(RESULT);
  const { drained, stillWaiting } = await finished;
  assert.deepEqual({ drained, stillWaiting }, { drained: true, stillWaiting: false });
});

test('documents that still wait after a minute are dropped, and the loaded ones are clustered', async (t) => {
  let passedMs = 0;
  t.mock.method(systemClock, 'monotonicMs', () => performance.now() + passedMs);
  const { processes, heard, say } = await startSilent();
  const finished = processes.finish(10);
  say({ kind: 'progress', completed: 3 } as Message);
  passedMs = 59_000;
  await setTimeout(50);
  assert.ok(!heard.includes('finish'), 'the minute is not over');
  passedMs = 61_000;
  await setTimeout(50);
  assert.equal(heard.at(-1), 'finish');
  say({ kind: 'loaded', documents: 4 } as Message);
  await setTimeout(50);
  assert.ok(!heard.includes('report'), 'the fourth document is not clustered');
  say({ kind: 'progress', completed: 4 } as Message);
  await setTimeout(50);
  assert.equal(heard.at(-1), 'report');
  say(RESULT);
  const { drained, stillWaiting } = await finished;
  assert.deepEqual({ drained, stillWaiting }, { drained: true, stillWaiting: true });
});

test('without documents to wait for, those that have not begun to load are dropped at once', async () => {
  const { processes, heard, say } = await startSilent();
  const finished = processes.finish(0);
  await setTimeout(0);
  assert.equal(heard.at(-1), 'finish');
  say({ kind: 'progress', completed: 3 } as Message);
  say({ kind: 'loaded', documents: 3 } as Message);
  await setTimeout(50);
  say(RESULT);
  assert.equal((await finished).drained, true);
});

test('of processes on other hosts the parent takes the times: it tells them none, and they tell of each commit', async () => {
  const times = { warmupDocuments: 1, warmupPerSecond: 1_000, documents: 2, perSecond: 1_000 };
  const schedule = { first: 0, ...times };
  const { processes, heard, say } = await startSilent({ isTold: true, schedule });
  processes.begin(monotonicUs() - 1_000_000);
  assert.ok(!heard.includes('begin'), 'their clocks say nothing of ours');
  say({ kind: 'committed', documents: [0, 1, 2] } as Message);
  say({ kind: 'progress', completed: 3 } as Message);
  const finished = processes.finish(3);
  say({ kind: 'loaded', documents: 3 } as Message);
  say(RESULT);
  const { histogram: told, halfMediansMs } = await finished;
  assert.equal(told.totalCount, 2, 'without the warm-up');
  assert.ok(halfMediansMs.every((median) => median !== null && median > 900));
});
