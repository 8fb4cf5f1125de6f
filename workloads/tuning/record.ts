/** What a run of this folder leaves behind: one JSON file, with where and how it was measured. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { captureEnvironment, type Environment, type Parameters } from '#results';

export interface TuningRecord<R> {
  readonly formatVersion: 1;
  readonly experiment: 'batching' | 'tune';
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly commandLine: string;
  readonly parameters: Parameters;
  readonly environment: Environment;
  readonly limitations: readonly string[];
  readonly result: R;
}

export async function writeRecord<R>(
  folder: string,
  record: Omit<TuningRecord<R>, 'formatVersion' | 'finishedAt' | 'environment'>,
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, 'run.json');
  const { result, ...head } = record;
  const whole: TuningRecord<R> = {
    formatVersion: 1,
    ...head,
    finishedAt: new Date().toISOString(),
    environment: captureEnvironment(folder),
    result,
  };
  await writeFile(file, `${JSON.stringify(whole, null, 2)}\n`, { flag: 'wx' });
  return file;
}
