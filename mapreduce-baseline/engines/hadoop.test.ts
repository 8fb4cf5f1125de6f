/** What the engine asks of a Hadoop with a cluster: a script in its place writes it down. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '#engine/testing';
import type { ChainEngine, ChainRun } from './engine.ts';
import { hadoopEngine } from './hadoop.ts';

const JOB = new URL('../testing/word-count-job.ts', import.meta.url).href;

/**
 * An engine on a script in Hadoop's place, and the file in which the script writes what it is
 * given, one call a line.
 * @param streaming what the script does as Hadoop Streaming, as text of a shell
 * @param shell what it does as the shell of the file system
 */
async function writtenDown(streaming: string, shell = ':'): Promise<[ChainEngine, string]> {
  const folder = temporaryFolder();
  const [script, calls] = [join(folder, 'hadoop.sh'), join(folder, 'calls')];
  await writeFile(
    script,
    `echo "$@" >>'${calls}'
case "$1" in
  streaming) ${streaming} ;;
  *Configuration) echo '<name>fs.defaultFS</name><value>hdfs://names/</value>' ;;
  *FsShell) ${shell} ;;
esac
`,
  );
  const engine = hadoopEngine({
    command: ['sh', script, 'streaming'],
    program: ['sh', script],
    settings: {},
    isLocal: false,
    workers: 1,
    memoryBytes: 2 ** 20,
  });
  return [engine, calls];
}

function run(
  engine: ChainEngine,
  { signal, outputFolder = join(temporaryFolder(), 'counts') }: Partial<ChainRun> = {},
): Promise<void> {
  const chain = { url: JOB, parameters: [{ combine: false }] };
  return engine.run({ chain, inputs: [{ path: 'hdfs://names/words' }], outputFolder, signal });
}

test('a run that is stopped kills its job, which would run on, and removes its folder', async () => {
  const [engine, calls] = await writtenDown('echo "Running job: job_17_0004"; sleep 60');
  const stop = new AbortController();
  const running = run(engine, { signal: stop.signal });
  const isStreaming = async (): Promise<boolean> =>
    /^streaming /m.test(await readFile(calls, 'utf8').catch(() => ''));
  while (!(await isStreaming())) await sleep(20);
  await sleep(200); // Until it has told the number of its job.
  stop.abort(new Error('stopped'));
  await assert.rejects(running, /stopped/);
  const called = await readFile(calls, 'utf8');
  assert.match(called, /^org\.apache\.hadoop\.mapred\.JobClient -kill job_17_0004$/m);
  assert.match(called, /-rm -r -f -skipTrash hdfs:\/\/names\/tmp\/mapreduce\.unfinished-[-\w]+\n$/);
});

test('no temporary folder is in the output, also if that was given with a slash at its end', async () => {
  const [engine, calls] = await writtenDown(':');
  await run(engine, { outputFolder: 'hdfs://names/counts/' });
  const called = await readFile(calls, 'utf8');
  assert.match(called, / -output hdfs:\/\/names\/counts -mapper /m);
  assert.match(called, /hdfs:\/\/names\/counts\.unfinished-/);
  assert.doesNotMatch(called, /counts\/\.unfinished/);
});

test('what the shell of the file system complains of is the message', async () => {
  const complaint = 'echo "INFO: connecting"; echo "mkdir: Permission denied: user=me" >&2; exit 1';
  const [engine] = await writtenDown(':', complaint);
  await assert.rejects(run(engine), {
    code: 'TASK_FAILED',
    message: 'Hadoop failed: Permission denied: user=me',
  });
});
