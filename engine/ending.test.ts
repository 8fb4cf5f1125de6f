/**
 * The claim that a process ends when its work is done, whatever it has left open: nothing that the
 * engine does in the background, or waits for, keeps it alive (P56, P81). All waits of the programs
 * take ten minutes, so a slow machine cannot make one pass or fail.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { execPath } from 'node:process';
import { describe, test } from 'node:test';
import { temporaryFolder } from './testing/index.ts';

const PROGRAM = new URL('ending.fixture.ts', import.meta.url).pathname;
/** Far more than the programs need, and far less than what they would wait for. */
const LIMIT_MS = 120_000;

describe('a process ends with its work, its database', () => {
  for (const mode of [
    'not closed',
    'a client, not closed',
    'a snapshot left open',
    'closed',
    'closed with a snapshot open',
    'closed with a commit in flight',
    'closed with a worker, a collector and a collection waiting',
  ]) {
    test(mode, async () => {
      const program = spawn(execPath, [PROGRAM, mode, temporaryFolder()], {
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: LIMIT_MS,
      });
      let said = '';
      for (const stream of [program.stdout, program.stderr]) {
        stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
      }
      const [code, signal] = (await once(program, 'close')) as [number | null, string | null];
      assert.deepEqual({ code, signal, said }, { code: 0, signal: null, said: 'all is done\n' });
    });
  }
});
