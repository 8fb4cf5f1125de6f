/** Judges a file by the promised model; the file may hold either kind of history. */
import { UsageError } from '#results';
import { kindOfHistory } from './lines.ts';
import { judgeLists } from './lists/judge-lists.ts';
import { judgeTimestamps } from './timestamps/judge-timestamps.ts';
import type { JudgeOptions, HistoryVerdict } from './verdict.ts';

/** The models; in strong ones real time counts. */
export const MODELS = [
  'snapshot-isolation',
  'strong-snapshot-isolation',
  'serializable',
  'strong-serializable',
] as const;
export type Model = (typeof MODELS)[number];

export interface FileOptions extends Omit<JudgeOptions, 'strict' | 'serializable'> {
  readonly model: Model;
}

/** @throws UsageError that names the line, if the file is not a history */
export async function judgeFile(file: string, options: FileOptions): Promise<HistoryVerdict> {
  const { model } = options;
  const kind = await kindOfHistory(file);
  const serializable = model.endsWith('serializable');
  if (kind === 'timestamps' && serializable) {
    throw new UsageError(
      `--model must be snapshot-isolation or strong-snapshot-isolation for a history with timestamps, but is "${model}".`,
    );
  }
  const judge = kind === 'timestamps' ? judgeTimestamps : judgeLists;
  return judge(file, { ...options, serializable, strict: model.startsWith('strong') });
}
