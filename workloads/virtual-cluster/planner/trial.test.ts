/** What a trial says of a brokerage. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrokerageResult } from '../figure-9/brokerage.ts';
import { usageOf } from '../usage.fixture.ts';
import { brokerageOutcome } from './trial.ts';

const overloaded: Partial<BrokerageResult> = {
  saturation: 'only 1 of 9 Trade-Results',
  tradeResultsPerSecond: 1,
  medianMs: 10,
  p90Ms: 20,
  p99Ms: 30,
  usage: usageOf([]),
  wrong: [],
};

test('a brokerage that does not keep up has an outcome, unless the cluster has made a mistake', () => {
  const { keptUp, latencyMs } = brokerageOutcome(overloaded as BrokerageResult);
  assert.deepEqual([keptUp, latencyMs], [false, { 50: 10, 90: 20, 99: 30 }]);
  const wrong = ['tradeOrder: TypeError: no such broker'];
  assert.throws(
    () => brokerageOutcome({ ...overloaded, wrong } as BrokerageResult),
    /no such broker/,
  );
});
