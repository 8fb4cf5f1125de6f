/** What the engine asks of Hadoop, as a script in Hadoop's place writes it down. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '#engine/testing';
import type { ChainEngine, ChainRun } from './engine.ts';
import { hadoopEngine } from './hadoop.ts';

const JOB = new URL('../testing/word-count-job.ts', import.meta.url).href;

/** What a script does in Hadoop's place, as shell code; $CALLS is the file of its calls. */
interface HadoopScript {
  readonly isLocal?: boolean;
  /** The URI of the cluster's file system. */
  readonly fileSystem?: string;
  readonly streaming?: string;
  /** What the script does as the shell of the file system. */
  readonly shell?: string;
  readonly jobClient?: string;
}

/**
 * An engine on a script in Hadoop's place, and the file in which the script writes what it is
 * given, one call after the other.
 */
async function engineOnScript({
  isLocal = false,
  fileSystem = 'hdfs://names/',
  streaming = ':',
  shell = ':',
  jobClient = ':',
}: HadoopScript): Promise<[ChainEngine, string]> {
  const folder = temporaryFolder();
  const [script, calls] = [join(folder, 'hadoop.sh'), join(folder, 'calls')];
  await writeFile(
    script,
    `CALLS='${calls}'
printf '%s\\n' "$*" >>"$CALLS"
case "$1" in
  streaming) ${streaming} ;;
  *Configuration) echo '<name>fs.defaultFS</name><value>${fileSystem}</value>' ;;
  *FsShell) ${shell} ;;
  *JobClient) ${jobClient} ;;
esac
`,
  );
  const engine = hadoopEngine({
    command: ['sh', script, 'streaming'],
    program: ['sh', script],
    settings: { a: 'b' },
    isLocal,
    workers: 1,
    memoryBytes: 2 ** 20,
  });
  return [engine, calls];
}

function run(
  engine: ChainEngine,
  {
    signal,
    inputs = [{ path: 'hdfs://names/words' }],
    outputFolder = join(temporaryFolder(), 'counts'),
  }: Partial<ChainRun> = {},
): Promise<void> {
  const chain = { url: JOB, parameters: [{ combine: false }] };
  return engine.run({ chain, inputs, outputFolder, signal });
}

/**
 * Stops a run during a call, which never ends on its own, and returns all calls.
 * @param call found in the calls once it is time to stop
 */
async function stopDuring(call: RegExp, script: HadoopScript): Promise<string> {
  const [engine, calls] = await engineOnScript(script);
  const stop = new AbortController();
  const running = run(engine, { signal: stop.signal });
  const isCalled = async (): Promise<boolean> =>
    call.test(await readFile(calls, 'utf8').catch(() => ''));
  while (!(await isCalled())) await sleep(20);
  stop.abort(new Error('stopped'));
  await assert.rejects(running, /stopped/);
  return readFile(calls, 'utf8');
}

/** Longer than a test may take. */
const FOREVER = 'sleep 3600';
/** Once this is among the calls, the job has printed its number. */
const TOLD = /^told$/m;

/** A job that prints `saying`, then writes `told` among the calls, and never ends. */
function endlessJob(saying: string): string {
  return `echo "${saying}"; echo told >>"$CALLS"; ${FOREVER}`;
}

test('a run that is stopped kills its job, which would run on, and removes its folder', async () => {
  const streaming = endlessJob('Running job: job_17_0004');
  const called = await stopDuring(TOLD, { streaming });
  assert.match(called, /^org\.apache\.hadoop\.mapred\.JobClient -D a=b -kill job_17_0004$/m);
  assert.match(called, /-rm -r -f -skipTrash hdfs:\/\/names\/tmp\/mapreduce\.unfinished-[-\w]+\n$/);
});

test('if a job cannot be killed, Hadoop still kills the next one if it can, and the run fails with why it was stopped', async () => {
  const streaming = endlessJob('job_17_0004 job_17_0005');
  const called = await stopDuring(TOLD, { streaming, jobClient: 'exit 1' });
  assert.match(called, / -kill job_17_0004\n.* -kill job_17_0005\n/);
});

test('a run can be stopped while it fetches its output', async () => {
  const shell = `case "$*" in *" -get "*) ${FOREVER} ;; esac`;
  assert.match(await stopDuring(/ -get /, { shell }), / -rm -r -f -skipTrash .*\n$/);
});

test('a run can be stopped while its folder is made', async () => {
  for (const call of ['-mkdir -p', '-mkdir hdfs:']) {
    const shell = `case "$*" in *" ${call}"*) ${FOREVER} ;; esac`;
    const called = await stopDuring(new RegExp(` ${call}`), { shell });
    assert.match(called, / -rm -r -f -skipTrash .*\n$/);
  }
});

test('other users may read the missing folders that are made above the folder of a run', async () => {
  const [engine, calls] = await engineOnScript({});
  await run(engine, { outputFolder: 'hdfs://names/new/counts' });
  const made = (await readFile(calls, 'utf8')).match(/-D .* -mkdir .*/g) ?? [];
  assert.equal(made.length, 2);
  assert.equal(made[0], '-D a=b -mkdir -p hdfs://names/new/');
  assert.match(String(made[1]), /umask-mode=077 -mkdir hdfs:\/\/names\/new\/counts\.unfinished-/);
});

test('an input is copied into the cluster from where it is, even if its path is relative', async () => {
  const folder = temporaryFolder();
  const [words, copy] = [join(folder, 'words'), join(folder, 'copy')];
  await writeFile(words, 'to be\n');
  const shell = `for word in "$@"; do
    if [ -d "$word" ]; then cat "$word/input-0" >'${copy}'; fi
  done`;
  const [engine] = await engineOnScript({ shell });
  const inputs = [{ path: relative(process.cwd(), words) }];
  await run(engine, { inputs, outputFolder: 'hdfs://names/counts' });
  assert.equal(await readFile(copy, 'utf8'), 'to be\n');
});

test('a name with special characters of URIs and patterns names its own file for Hadoop', async () => {
  const folder = join(temporaryFolder(), '100% spacé, {new}');
  await mkdir(folder);
  const [words, outputFolder] = [join(folder, 'my [1] words?'), join(folder, 'my counts')];
  await writeFile(words, 'to be\n');
  const streaming = `while [ "$1" != -output ]; do shift; done
    mkdir "\${2#file://}" && echo counted >"\${2#file://}/part-00000"`;
  const [engine, calls] = await engineOnScript({ fileSystem: 'file:///', streaming });
  await run(engine, { inputs: [{ path: words }], outputFolder });
  assert.equal(await readFile(join(outputFolder, 'part-00000'), 'utf8'), 'counted\n');
  const input = String.raw`/100% spacé{\,} \{new\}/my \[1\] words\? -output file:///`;
  assert.ok((await readFile(calls, 'utf8')).includes(input));
});

test('the temporary files of Hadoop in one process are next to the output, and Hadoop reaches them by a path without special characters', async () => {
  const folder = join(temporaryFolder(), 'a b, c:d');
  await mkdir(folder);
  const seen = join(folder, 'seen');
  const streaming = `
    for word in "$@"; do
      case "$word" in hadoop.tmp.dir=*) mkdir "\${word#*=}" ;; esac
    done
    find '${folder}' -name hadoop >'${seen}'
    while [ "$1" != -output ]; do shift; done
    mkdir "\${2#file://}"`;
  const [engine, calls] = await engineOnScript({ isLocal: true, streaming });
  await run(engine, { outputFolder: join(folder, 'counts') });
  assert.match(await readFile(seen, 'utf8'), /\/a b, c:d\/counts\.unfinished-\w+\/work\/hadoop\n$/);
  const [, path = ''] = / hadoop\.tmp\.dir=([-\w./]+) /.exec(await readFile(calls, 'utf8')) ?? [];
  assert.match(path, /\/work\/hadoop$/);
  assert.ok(!existsSync(dirname(dirname(path))), 'the link is removed');
});

test('no temporary folder is in the output, even if that was given with a slash at its end', async () => {
  const [engine, calls] = await engineOnScript({});
  await run(engine, { outputFolder: 'hdfs://names/counts/' });
  const called = await readFile(calls, 'utf8');
  assert.match(called, / -output hdfs:\/\/names\/counts -mapper /m);
  assert.match(called, /hdfs:\/\/names\/counts\.unfinished-/);
  assert.doesNotMatch(called, /counts\/\.unfinished/);
});

test('what the shell of the file system complains of is the message', async () => {
  const complaint = 'echo "INFO: connecting"; echo "mkdir: Permission denied: user=me" >&2; exit 1';
  const [engine] = await engineOnScript({ shell: complaint });
  await assert.rejects(run(engine), {
    code: 'TASK_FAILED',
    message: 'Hadoop failed: Permission denied: user=me',
  });
});
