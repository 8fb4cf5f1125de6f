/**
 * Exiting in the middle of commits: the process ends, with its exit code, and blocks no other
 * process.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { openEmbedded } from './index.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

const EXIT = fileURLToPath(new URL('exit.fixture.ts', import.meta.url));
/** A process that hangs is killed at the timeout, and has no exit code. */
const OPTIONS = { reject: false, timeout: 15_000, killSignal: 'SIGKILL' } as const;
/** Most rounds hit a commit, so all of them together surely do. */
const ROUNDS = 2;

/** Lets two processes at a time exit, so that each also waits for the writer lock of the other. */
async function assertExits(how: string, exitCode: number): Promise<void> {
  const folder = await folderWithTable();
  for (let round = 0; round < ROUNDS; round++) {
    const delays = [20 + round, 25 + round];
    const endings = await Promise.all(
      delays.map((delayMs) =>
        execa(process.execPath, [EXIT, folder, how, String(delayMs)], OPTIONS),
      ),
    );
    for (const ending of endings) {
      assert.equal(ending.exitCode, exitCode, ending.stderr);
      assert.equal(ending.stdout, 'goodbye', 'other exit listeners have run');
    }
    await assertWritable(folder);
  }
}

async function folderWithTable(): Promise<string> {
  const folder = temporaryFolder();
  await using store = await openEmbedded({ folder });
  await store.createTable('t', { families: ['data'] });
  return folder;
}

async function assertWritable(folder: string): Promise<void> {
  await using store = await openEmbedded({ folder });
  const set = { kind: 'set', family: 'data', qualifier: 'q', value: Buffer.from('v') } as const;
  await store.mutateRows([{ table: 't', row: 'r', mutations: [{ ...set, timestamp: 1 }] }]);
  assert.ok(await store.readRow('t', 'r', [{ family: 'data' }]));
}

describe('in the middle of commits', { concurrency: true }, () => {
  test('process.exit ends the process with its code, and other processes go on writing', async () => {
    await assertExits('exit', 3);
  });

  test('an uncaught exception ends the process with code 1', async () => {
    await assertExits('throw', 1);
  });

  test('a listener that itself exits decides the code', async () => {
    await assertExits('twice', 4);
  });

  test('a worker thread that exits ends no other thread, and other processes go on writing', async () => {
    const folder = await folderWithTable();
    const program = `
      import { Worker } from 'node:worker_threads';
      const worker = new Worker(${JSON.stringify(EXIT)}, { execArgv: [], argv: ['${folder}', 'exit', '20'] });
      worker.on('exit', (code) => console.log('worker', code));`;
    const words = ['--input-type=module', '--eval', program];
    const { exitCode, stdout, stderr } = await execa(process.execPath, words, OPTIONS);
    assert.equal(stdout, 'goodbyeworker 3', stderr);
    assert.equal(exitCode, 0);
    await assertWritable(folder);
  });

  test('ctrl-C ends a program that uses runCommand with code 130', async () => {
    const folder = await folderWithTable();
    const script = join(folder, 'interrupted.mjs');
    await writeFile(script, interruptedProgram(folder));
    const { exitCode, stderr } = await execa(process.execPath, [script], OPTIONS);
    assert.equal(exitCode, 130, stderr);
    await assertWritable(folder);
  });
});

/** On ctrl-C it returns from its action just after lmdb has been told to begin a commit. */
function interruptedProgram(folder: string): string {
  const moduleOf = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  return `
    import { runCommand } from ${moduleOf('../../../workloads/harness/index.ts')};
    import { openEmbedded } from ${moduleOf('index.ts')};
    const program = { script: 'commit', description: 'Commits.', options: {}, examples: [] };
    await runCommand(program, async (options, { signal }) => {
      const store = await openEmbedded({ folder: ${JSON.stringify(folder)} });
      const set = { kind: 'set', family: 'data', qualifier: 'q', value: Buffer.from('v') };
      const interrupted = new Promise((resolve) => signal.addEventListener('abort', resolve));
      const awake = setTimeout(() => {}, 10_000); // Nothing else is, until the signal has come.
      process.kill(process.pid, 'SIGINT');
      await interrupted;
      clearTimeout(awake);
      void store.mutateRows([{ table: 't', row: 'r', mutations: [{ ...set, timestamp: 2 }] }]);
      for (let i = 0; i < 20; i++) await null; // By then lmdb has asked for its own setImmediate.
      await new Promise(setImmediate);
    });`;
}

test('a process listens for its exit only while it commits', async () => {
  const before = process.listenerCount('exit');
  await assertWritable(await folderWithTable());
  assert.equal(process.listenerCount('exit'), before);
});
