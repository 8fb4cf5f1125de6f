/**
 * Making reference runs again: which there are, whether the code has changed since one was made,
 * and how a new one takes the place of an old one.
 *
 * A run is measured in a folder of its own, and moves into results/reference only when it is whole:
 * an interrupt, or a failed check, leaves the old one there.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { type FoundRun, readRunRecord, RECORD_FILE, type RunRecord } from '#results';
import { UsageError } from '#harness';
import { CODE, codeVersion, ROOT } from '../../harness/hosts/code-version.ts';
import { runTreeScript } from '../script-process.ts';

export interface Reference {
  readonly name: string;
  /** The script and its options, which are without blanks. */
  readonly words: readonly string[];
  /** What it took. */
  readonly seconds: number;
  /** The commit of its code; null if that was changed, or is not known. */
  readonly commit: string | null;
}

/** The runs that can be made again, the shortest first. */
export function referencesOf(runs: readonly FoundRun[]): readonly Reference[] {
  return runs
    .flatMap(({ name, record }) => (record === null ? [] : referenceOf(name, record)))
    .toSorted((a, b) => a.seconds - b.seconds);
}

function referenceOf(name: string, record: RunRecord): Reference {
  const { commandLine, startedAt, finishedAt, environment } = record;
  const [program, ...words] = commandLine.split(' ');
  if (program !== './run.sh' || /["'\\]/.test(commandLine)) {
    throw new UsageError(`The command of ${name} cannot be repeated here: ${commandLine}`);
  }
  const seconds = (Date.parse(finishedAt ?? startedAt) - Date.parse(startedAt)) / 1_000;
  const { commit } = environment;
  return { name, words, seconds, commit: commit?.dirty === false ? commit.hash : null };
}

export class Remaking {
  readonly #references: string;
  readonly #work: string;
  readonly #root: string;

  /** @param work where runs are measured, on the file system of `references` */
  constructor(references: string, work: string, root: string = ROOT) {
    this.#references = references;
    this.#work = work;
    this.#root = root;
  }

  /** @throws UsageError unless a commit names the code */
  refuseUncommitted(): void {
    const version = codeVersion();
    if (/^[0-9a-f]{40}$/.test(version)) return;
    throw new UsageError(
      `A reference run must be repeatable, but the code is ${version}: commit it first.`,
    );
  }

  /** Whether the code is the one of the run. */
  isCurrent({ commit }: Reference): boolean {
    if (commit === null) return false;
    try {
      const words = ['-C', this.#root, 'diff', '--quiet', commit, '--', ...CODE];
      execFileSync('git', words, { stdio: 'ignore' });
      return true;
    } catch {
      return false; // It differs, or the history does not have that commit.
    }
  }

  /**
   * Resolves to null if the new run has taken the place of the old one, or else to the reason.
   * @throws the reason of the signal, if that ended it
   */
  async make({ name, words }: Reference, signal: AbortSignal): Promise<string | null> {
    const folder = path.join(this.#work, name.replaceAll('/', '-'));
    rmSync(folder, { recursive: true, force: true });
    const running = { signal, isHeard: true };
    const ended = await runTreeScript(this.#root, [...words, '--out', folder], running);
    const failure = failureOf(folder, ended);
    if (failure === null) replace(path.join(this.#references, name), folder);
    return failure;
  }
}

type Ended = Awaited<ReturnType<typeof runTreeScript>>;

/** Null for a run that may be a reference. */
function failureOf(folder: string, { exitCode, stderr }: Ended): string | null {
  const lastLine = String(stderr).trimEnd().split('\n').at(-1) ?? '';
  if (!existsSync(path.join(folder, RECORD_FILE))) return lastLine;
  const { state, findings, environment } = readRunRecord(folder);
  if (state !== 'finished') return `the run is ${state}`;
  if (!findings.check.passed) return `its check failed: ${findings.check.detail}`;
  if (environment.commit?.dirty !== false) return 'the code was changed while it ran';
  return exitCode === 0 ? null : lastLine;
}

/** At each moment one of the two is there whole, under its name or with `.old` after it. */
function replace(reference: string, run: string): void {
  const [fresh, old] = [`${reference}.new`, `${reference}.old`];
  // A dark picture is kept where a page shows it, and then the old one is there.
  const isWanted = (file: string): boolean =>
    !file.endsWith('-dark.png') || existsSync(path.join(reference, path.basename(file)));
  for (const left of [fresh, old]) rmSync(left, { recursive: true, force: true });
  try {
    cpSync(run, fresh, { recursive: true, filter: isWanted });
    renameSync(reference, old);
    renameSync(fresh, reference);
  } finally {
    rmSync(fresh, { recursive: true, force: true }); // The disk may be full.
  }
  rmSync(old, { recursive: true });
}
