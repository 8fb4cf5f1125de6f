/** `./run.sh mapreduce` on a Hadoop cluster of this machine: HDFS and YARN, as processes. */
import assert from 'node:assert/strict';
import { glob, mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { createRandom } from '#engine/base';
import { temporaryFolder } from '#engine/testing';
import { digestClusters } from '../../crawl-rate/batch/contest.ts';
import { readClusters } from '../../crawl-rate/batch/index.ts';
import {
  type LocalHadoop,
  startHadoop,
  whyNoHadoopCluster,
} from '../../harness/testing/local-hadoop.ts';
import { runProgram } from '../../harness/testing/run-script.ts';

const MAIN = new URL('main.ts', import.meta.url);

const why = await whyNoHadoopCluster();
if (why === undefined) claimAll(await startHadoop());
else test('the clustering on a Hadoop cluster', { skip: why }, () => {});

function claimAll(hadoop: LocalHadoop): void {
  after(() => hadoop.stop());

  test('Hadoop finds the same clusters of documents as our runner, with a program that came with the job', async () => {
    const folder = path.join(temporaryFolder(), 'with a spacé, 100%41 [new]');
    await mkdir(folder);
    const crawl = path.join(folder, 'crawl');
    await writeFile(crawl, documents());
    const [ours, theirs] = [path.join(folder, 'ours'), path.join(folder, 'theirs')];
    const options = (output: string) => ['--input', crawl, '--output', output, '--workers', '1'];
    const onCluster = ['--engine', 'hadoop', '--setting', 'mapreduce.job.maps=1'];
    await succeeds(options(ours));
    await succeeds([...options(theirs), ...onCluster], { HADOOP_CONF_DIR: hadoop.configuration });
    const digest = await digestClusters(readClusters(theirs));
    assert.equal(digest, await digestClusters(readClusters(ours)));
    assert.ok((await readdir(theirs)).every((part) => part.startsWith('part-')));
    assert.ok((await givenFiles(hadoop)).some((file) => file.endsWith('cluster-job.ts')));
  });
}

/**
 * The files that came with a job. The node manager keeps them for the user's next job; it is
 * deleting the folder of the job itself, `appcache`, while the test looks.
 */
function givenFiles(hadoop: LocalHadoop): Promise<string[]> {
  return Array.fromAsync(
    glob('usercache/*/filecache/**', { cwd: path.join(hadoop.folder, 'node-manager') }),
  );
}

function documents(): string {
  const random = createRandom(7);
  const key = (): string => random.integer(1, 300).toString(36);
  const lines = Array.from(
    { length: 500 },
    (_, i) => `${i}\t${key()}\t${key()}\t${key()}\thttp://example.org/\tsome contents\n`,
  );
  return lines.join('');
}

async function succeeds(words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
  const { exitCode, stderr } = await runProgram(MAIN, words, { env });
  assert.equal(exitCode, 0, stderr);
}
