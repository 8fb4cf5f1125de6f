/** Runs a script in a process of its own, as a user does, into a new folder. For tests only. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { execaNode, type Options } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { readRunRecord, type RunRecord } from '#results';

export interface EndedScript {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** The folder given with `--out`. */
  readonly out: string;
  readonly record: () => RunRecord;
}

export async function runScript(
  program: URL,
  words: readonly string[],
  options: Pick<Options, 'env' | 'timeout'> = {},
): Promise<EndedScript> {
  const out = path.join(temporaryFolder(), 'run');
  const ended = await execaNode(fileURLToPath(program), [...words, '--out', out], {
    reject: false,
    ...options,
  });
  const { exitCode, stdout, stderr } = ended;
  return { exitCode, stdout, stderr, out, record: () => readRunRecord(out) };
}
