/** The streaming program as other engines start it, and its bad arguments. */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { execa } from 'execa';
import { streamingCommand } from './engines/engine.ts';

const JOB = new URL('testing/word-count-job.ts', import.meta.url).href;

interface ProgramEnd {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

async function run([command = '', ...words]: readonly string[], input = ''): Promise<ProgramEnd> {
  const { exitCode, stdout, stderr } = await execa(command, words, { input, reject: false });
  return { exitCode, stdout, stderr };
}

test('the program maps and reduces with the job and the parameters that it is given', async () => {
  const parameters = { combine: false };
  const mapped = await run(streamingCommand('map', JOB, parameters), 'to be or\nnot to be\n');
  const sorted = mapped.stdout.split('\n').toSorted().join('\n');
  const reduced = await run(streamingCommand('reduce', JOB, parameters), sorted);
  assert.equal(reduced.stdout, 'be\t2\nnot\t1\nor\t1\nto\t2');
});

test('a job gets its parameters as they were given, even if there are none', async () => {
  const job = `data:text/javascript,${encodeURIComponent(`
    export const createJob = (parameters) => ({
      map: (record, output) => {
        const bytes = Buffer.from(String(parameters));
        output.emit({ bytes, start: 0, end: bytes.length }, { start: 0, end: 0 });
      },
    });`)}`;
  for (const parameters of [undefined, null, 7]) {
    const { stdout } = await run(streamingCommand('map', job, parameters), 'x\n');
    assert.equal(stdout, `${String(parameters)}\t`);
  }
});

test('the program answers wrong arguments with one sentence and exit code 2', async () => {
  const program = fileURLToPath(new URL('streaming-program.ts', import.meta.url));
  const noJob = new URL('job.ts', import.meta.url).href;
  for (const words of [
    [],
    ['mop'],
    ['map', 'file:///no/such/job.ts'],
    ['map', noJob],
    ['map', JOB, 'nonsense'],
  ]) {
    const result = await run([process.execPath, program, ...words]);
    assert.equal(result.exitCode, 2);
    assert.match(result.stderr, /^streaming-program(?: JOB_INVALID)?: [^\n]+$/);
  }
});
