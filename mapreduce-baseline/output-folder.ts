/**
 * The output of a run, of any engine: it appears whole or not at all, and never replaces another.
 *
 *     <output>.unfinished-x7Qp2/work      for anything
 *     <output>.unfinished-x7Qp2/output    the parts ──publish──▶ <output>
 *
 * A reader that finds the output folder need not check whether it is complete.
 */
import { mkdir, mkdtemp, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { MapReduceError } from './errors.ts';

export class UnfinishedOutput implements AsyncDisposable {
  /** A folder for anything; it ends with the run. */
  readonly work: string;
  /** An empty folder for the parts. */
  readonly output: string;
  readonly #unfinished: string;
  readonly #target: string;

  private constructor(unfinished: string, target: string) {
    this.work = join(unfinished, 'work');
    this.output = join(unfinished, 'output');
    this.#unfinished = unfinished;
    this.#target = target;
  }

  /** @throws OUTPUT_EXISTS */
  static async begin(outputFolder: string): Promise<UnfinishedOutput> {
    const target = resolve(outputFolder);
    await refuseExisting(target);
    await makeFolderOf(target);
    const unfinished = await mkdtemp(join(dirname(target), `${basename(target)}.unfinished-`));
    const begun = new UnfinishedOutput(unfinished, target);
    await mkdir(begun.work);
    await mkdir(begun.output);
    return begun;
  }

  /**
   * What if the process dies here? Before the rename there is no output folder, only an unfinished
   * one that nothing reads. After it there is the whole output. The caller has synced the parts;
   * their names are made durable before the rename, and the rename before the run is called
   * finished.
   * @param durable whether the output must survive a power failure
   * @throws OUTPUT_EXISTS if another run was faster
   */
  async publish({ durable }: { readonly durable: boolean }): Promise<void> {
    if (durable) await syncFolder(this.output);
    try {
      await rename(this.output, this.#target);
    } catch (error) {
      throw isAboutTarget(error) ? outputExists(this.#target, error) : error;
    }
    if (durable) await syncFolder(dirname(this.#target));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#unfinished, { recursive: true, force: true });
  }
}

/** @throws OUTPUT_EXISTS */
export async function refuseExisting(outputFolder: string): Promise<void> {
  if (await exists(outputFolder)) throw outputExists(outputFolder);
}

/**
 * Creates the missing folders above the output, and makes their names durable. Not `mkdir`'s own
 * `recursive`: it never returns where the system denies that a folder exists and also refuses to
 * create it, as in /proc.
 */
export async function makeFolderOf(target: string): Promise<void> {
  const missing: string[] = [];
  let found = dirname(target);
  for (; !(await exists(found)); found = dirname(found)) missing.push(found);
  for (const next of missing.toReversed()) {
    await mkdir(next).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // Another process was faster.
    });
    await syncFolder(dirname(next));
  }
}

/** Tolerates a folder that we may not read, and a system that does not sync folders. */
async function syncFolder(path: string): Promise<void> {
  try {
    await using folder = await open(path);
    await folder.sync();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EACCES', 'EPERM', 'EISDIR', 'EINVAL'].includes(code)) throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}

/** Whether a rename failed because something is there already: a folder with content, or a file. */
function isAboutTarget(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR';
}

function outputExists(outputFolder: string, cause?: unknown): MapReduceError {
  const message = `output folder ${outputFolder} exists; name one that does not, or remove it`;
  return new MapReduceError('OUTPUT_EXISTS', message, { cause });
}
