/** `./run.sh mapreduce` as users run it: with their jobs, with their Hadoop, and on bad input. */
import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { whyNoGnuSort } from '#mapreduce';
import { hadoopClassPath } from '../../harness/batch-engines.ts';
import { assertRefused, runProgram } from '../../harness/testing/run-script.ts';

const MAIN = path.join(import.meta.dirname, 'main.ts');
const MAPREDUCE = new URL('../../../mapreduce-baseline/', import.meta.url);

/** Counts words, then how many words have each count. */
const JOB = `
import { Slice } from '${new URL('bytes.ts', MAPREDUCE).href}';
import { createJob as countWords } from '${new URL('testing/word-count-job.ts', MAPREDUCE).href}';
export const chain = [{ combine: true, field: 0 }, { combine: false, field: 1 }];
export function createJob({ combine, field }) {
  const job = countWords({ combine });
  const text = (line) => Buffer.from(String(line).split('\\t')[field]);
  return { ...job, map: (line, output) => job.map(new Slice(text(line)), output) };
}
`;

interface WrittenFiles {
  readonly folder: string;
  readonly job: string;
  readonly words: string;
}

async function files(): Promise<WrittenFiles> {
  const folder = temporaryFolder();
  const [job, words] = [path.join(folder, 'job.mjs'), path.join(folder, 'words')];
  await writeFile(job, JOB);
  await writeFile(words, 'to be or\nnot to be\n');
  return { folder, job, words };
}

async function linesOf(folder: string): Promise<readonly string[]> {
  const parts = (await readdir(folder)).filter((name) => name.startsWith('part-'));
  const texts = await Promise.all(parts.map((name) => readFile(path.join(folder, name), 'utf8')));
  return texts.join('').split('\n').filter(Boolean).toSorted();
}

test('a job of the user runs on our runner and between GNU sorts, with the same result', async (t) => {
  const { folder, job, words } = await files();
  for (const engine of ['local', 'sort']) {
    const whyNot = engine === 'sort' ? await whyNoGnuSort() : undefined;
    if (whyNot !== undefined) return t.skip(whyNot);
    const output = path.join(folder, engine);
    const options = ['--engine', engine, '--job', job, '--input', words, '--output', output];
    const { exitCode, stdout, stderr } = await runProgram(MAIN, options);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /: 2 jobs of .* in [\d.]+ s.*Output: /);
    assert.deepEqual(await linesOf(output), ['1\t2', '2\t2']);
  }
});

test('a folder of inputs stands for its files and those to which its links lead', async () => {
  const { folder, job, words } = await files();
  const [input, output] = [path.join(folder, 'input'), path.join(folder, 'output')];
  await mkdir(input);
  await writeFile(path.join(input, 'file'), 'to\n');
  await symlink(words, path.join(input, 'link'));
  const options = ['--job', job, '--input', input, '--output', output, '--workers', '1'];
  const { exitCode, stderr } = await runProgram(MAIN, options);
  assert.equal(exitCode, 0, stderr);
  assert.deepEqual(await linesOf(output), ['1\t2', '2\t1', '3\t1']); // "to" is there three times.
});

test('a Hadoop of the user gets URIs; only what lies between the jobs is removed', async (t) => {
  const classPath = await hadoopClassPath();
  if (classPath === undefined) return t.skip('Hadoop is missing: ./run.sh fetch');
  const { folder, job, words } = await files();
  const env = { HADOOP_HOME: await hadoopHome(path.join(folder, 'hadoop'), classPath) };
  const output = path.join(folder, 'counts');
  await mkdir(path.join(folder, 'counts.jobs')); // The user's own.
  const uris = [words, output].map((name) => pathToFileURL(name).href);
  const places = ['--input', String(uris[0]), '--output', String(uris[1])];
  const options = ['--engine', 'hadoop', '--job', job, ...places];
  const { exitCode, stdout, stderr } = await runProgram(MAIN, options, { env });
  assert.equal(exitCode, 0, stderr);
  assert.doesNotMatch(stdout, /processor/, 'the time is not known: it may be a cluster');
  assert.deepEqual(await linesOf(output), ['1\t2', '2\t2']);
  assert.deepEqual((await readdir(folder)).toSorted(), [
    'counts',
    'counts.jobs',
    'hadoop',
    'job.mjs',
    'words',
  ]);
});

/** A folder like that of an installed Hadoop, around the one from Maven. */
async function hadoopHome(home: string, classPath: string): Promise<string> {
  const streaming = path.join(home, 'share/hadoop/tools/lib');
  for (const folder of [path.join(home, 'bin'), path.join(home, 'etc'), streaming]) {
    await mkdir(folder, { recursive: true });
  }
  await writeFile(path.join(streaming, 'hadoop-streaming-3.4.2.jar'), '');
  await writeFile(path.join(home, 'etc/core-site.xml'), '<configuration></configuration>');
  const program = path.join(home, 'bin/hadoop');
  await writeFile(
    program,
    `#!/bin/sh
case "$1" in
  jar) shift 2 && set -- org.apache.hadoop.streaming.HadoopStreaming "$@" ;;
  fs) shift && set -- org.apache.hadoop.fs.FsShell "$@" ;;
esac
exec java -cp '${home}/etc:${classPath}' "$@"
`,
  );
  await chmod(program, 0o755);
  return home;
}

test('bad input is answered with one sentence that names the option', async () => {
  const { folder, job, words } = await files();
  const output = path.join(folder, 'output');
  const both = ['--input', words, '--output', output];
  const [links, nested, hidden] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  await symlink(path.join(folder, 'nothing'), path.join(links, 'lost'));
  await mkdir(path.join(nested, 'inner'));
  await writeFile(path.join(nested, 'words'), 'to\n');
  await writeFile(path.join(hidden, '_SUCCESS'), '');
  const [json, syntax] = [path.join(nested, 'job.json'), path.join(nested, 'syntax.js')];
  for (const file of [json, syntax]) await writeFile(file, '{"a": 1}');
  const mistakes: readonly (readonly [words: readonly string[], sentence: RegExp])[] = [
    [['--input', words], /^--output must name a new folder, but is missing\.$/],
    [['--output', output], /^--input must name a file or a folder, but is missing\.$/],
    [['--input', 'nothing', '--output', output], /^--input must be .* exists, but is "nothing"\.$/],
    [
      ['--input', links, '--output', output],
      /^--input must .*lost is a link to .*, which does not/,
    ],
    [
      ['--input', nested, '--output', output],
      /^--input must .*inner is a folder in a folder: name/,
    ],
    [['--input', hidden, '--output', output], /^--input must be .* is a folder without files\.$/],
    [['--input', '/dev/null', '--output', output], /^--input must be .*, but is "\/dev\/null"\.$/],
    [['--input', words, '--output', folder], /^--output must be a new folder, but ".*" exists\.$/],
    [['--input', 'hdfs://a/b', '--output', output], /^--input must be a path with --engine local/],
    [
      [...both, '--setting', 'a=b'],
      /^--setting has an effect only with --engine hadoop or spark, but --engine is local\.$/,
    ],
    [[...both, '--engine', 'spark', '--setting', 'a'], /^--setting must be name=value/],
    [
      [...both, '--job', json],
      /^--job must be a module, whose name ends in .*, but is ".*json"\.$/,
    ],
    [[...both, '--job', syntax], /^--job must be a module with jobs, but .*cannot be loaded/],
    [[...both, '--job', `${job}.js`], /^--job must be a module that exists, but is /],
  ];
  await assertRefused(MAIN, mistakes);
  assert.deepEqual((await readdir(folder)).toSorted(), ['job.mjs', 'words']);
});

test('a line that a job cannot read, and a job that ends its process, are one sentence and exit code 2', async () => {
  const folder = temporaryFolder();
  const [input, job] = [path.join(folder, 'input'), path.join(folder, 'job.mjs')];
  await writeFile(input, '\u001b[31m\n');
  await writeFile(job, "console.log('loading'); process.exit(0);");
  const run = (...words: string[]) =>
    runProgram(MAIN, ['--input', input, '--output', path.join(folder, 'output'), ...words]);
  const unread = await run('--workers', '1');
  assert.equal(unread.exitCode, 2);
  assert.match(
    unread.stderr,
    /^map task 0 of 1 of cluster-job 1 of 3: this line lacks a field: \\u001b\[31m\.$/m,
  );
  const ended = await run('--job', job);
  assert.deepEqual([ended.exitCode, ended.stdout], [2, '']);
  assert.match(
    ended.stderr,
    /^loading\nThe job .*job\.mjs ended this process while it was loaded\.$/,
  );
});
