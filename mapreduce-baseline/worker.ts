/**
 * The program of a worker process: waits for tasks, runs one at a time, reports.
 *
 * A worker holds nothing that matters between tasks and may be killed at any moment. It ends when
 * its parent does: the channel between them closes then, even if the parent was killed, and a
 * worker without a parent cannot report.
 */
import { serialize } from 'node:v8';
import { lateWork, loadJob, MapReduceError } from './job.ts';
import { runMapTask, runReduceTask, type Task, type TaskReport } from './tasks.ts';
import type { WorkerMessage } from './worker-pool.ts';

process.on('SIGINT', () => {}); // Ctrl-C reaches the whole group; the parent ends workers.
process.on('disconnect', () => process.exit(0));
process.on('message', (task: Task) => {
  void answer(task);
});
/** What a job goes on with has failed: the task in flight fails with it, and the process ends. */
process.on('uncaughtException', (error) => {
  if (process.send === undefined) process.exit(1);
  process.send(failed(error), undefined, undefined, () => process.exit(1));
});
tell({ kind: 'ready' });

async function answer(task: Task): Promise<void> {
  let message: WorkerMessage;
  try {
    message = { kind: 'done', report: await run(task) };
  } catch (error) {
    message = failed(error);
  }
  tell(message);
}

/** The code goes along, because the clone of an error loses its own fields. */
function failed(error: unknown): WorkerMessage {
  const code = error instanceof MapReduceError ? error.code : undefined;
  return { kind: 'failed', error: sendable(error), code };
}

/** The error; its message alone if a part of it, such as its cause, cannot be cloned. */
function sendable(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  try {
    serialize(error);
    return error;
  } catch {
    return error.message;
  }
}

function tell(message: WorkerMessage): void {
  // If the parent is gone, the message cannot arrive and `disconnect` is about to end this process.
  process.send?.(message, undefined, undefined, () => {});
}

async function run(task: Task): Promise<TaskReport> {
  const before = process.cpuUsage();
  const job = await loadJob(task.job.url, task.job.parameters); // Loaded once, made for each task.
  const report = task.kind === 'map' ? await runMapTask(task, job) : await runReduceTask(task, job);
  await lateWork();
  const { user, system } = process.cpuUsage(before);
  return { ...report, cpuMs: (user + system) / 1000 };
}
