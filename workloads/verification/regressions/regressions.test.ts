/**
 * Plans of simulated runs that have failed once, shrunk. Each is replayed in every test run, and
 * must pass. `./run.sh simulate` writes the files; each says which claim was broken.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { type SimulationPlan, simulate } from '../simulation/index.ts';

const FOLDER = new URL('./', import.meta.url);

interface Regression {
  readonly claim: string;
  readonly plan: SimulationPlan;
}

describe('a run that has failed once passes', () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  assert.ok(files.length > 0);
  for (const file of files) {
    test(file, async () => {
      const text = readFileSync(new URL(file, FOLDER), 'utf8');
      const { plan } = JSON.parse(text) as Regression;
      assert.deepEqual((await simulate(plan)).violations, []);
    });
  }
});
