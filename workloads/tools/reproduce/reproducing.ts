/**
 * The runs of `./run.sh reproduce`: which there are to be, which are there already, and how one is
 * made.
 *
 * Each finished run is listed in `reproduced.json`, in the folder that holds them all, with the
 * version of the code and the command. A later call takes what has both the same, and measures the
 * rest; a run that was interrupted, or whose check failed, is not in the list. A folder may hold
 * another run by now, so the list names each run, too.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import {
  claimsOf,
  EXPERIMENTS,
  type ExperimentName,
  readRunRecord,
  RECORD_FILE,
  type RunRecord,
  writeFileAtomically,
} from '#results';
import { type ProfileName, UsageError } from '#harness';
import { codeVersion, ROOT } from '../../harness/hosts/code-version.ts';
import { runTreeScript } from '../script-process.ts';

/** An experiment that is to be run, at a size. */
export interface PlannedRun {
  readonly name: ExperimentName;
  readonly words: readonly string[];
  /** The time that its script expects. */
  readonly seconds: number;
}

/**
 * The experiments that these claims rest on, the cheapest first.
 * @param helpOf what a script prints with `--help`, where its time is
 */
export async function planOf(
  claims: readonly string[],
  profile: ProfileName,
  helpOf: (script: string) => Promise<string>,
): Promise<readonly PlannedRun[]> {
  const wanted = claimsOf(new Map()).filter(({ id }) => claims.includes(id));
  const names = [...new Set(wanted.flatMap(({ experiments }) => experiments))];
  const runs: PlannedRun[] = [];
  for (const name of names) {
    const { script, options, seconds } = EXPERIMENTS[name];
    const words = [script, '--profile', profile, ...options];
    const known = profile === 'quick' ? seconds : undefined;
    runs.push({ name, words, seconds: known ?? secondsIn(await helpOf(script), profile) });
  }
  return runs.toSorted((a, b) => a.seconds - b.seconds);
}

const SECONDS_IN = { second: 1, minute: 60, hour: 3_600 } as const;

/** The time of a profile in the help of a script: "quick 5 minutes" is 300. */
export function secondsIn(help: string, profile: ProfileName): number {
  const text = help.replaceAll(/\s+/g, ' ');
  const found = new RegExp(`size of the run: [^(]*?${profile} (\\d+) (second|minute|hour)`).exec(
    text,
  );
  if (found === null) throw new Error(`the help of the script has no time for ${profile}`);
  return Number(found[1]) * SECONDS_IN[found[2] as keyof typeof SECONDS_IN];
}

/** A run that is there. */
export interface DoneRun {
  readonly folder: string;
  readonly record: RunRecord;
}

/** Why there is no run. */
export interface NoRun {
  readonly reason: string;
  /** Whether its script failed; otherwise it refused to begin, as without Java. */
  readonly hasFailed: boolean;
}

/** The exit code of a script that refuses to begin. */
const REFUSED = 2;

function isWhole({ state, findings }: RunRecord): boolean {
  return state === 'finished' && findings.check.passed;
}

interface Listed {
  readonly folder: string;
  readonly runId: string;
  readonly command: string;
  readonly version: string;
}

/** The runs in a folder, and their list. */
export class Reproducing {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = path.resolve(folder);
  }

  /** The run of this code with this command, if it is there. */
  done({ words }: PlannedRun): DoneRun | null {
    const isSame = ({ command, version }: Listed): boolean =>
      command === words.join(' ') && version === codeVersion();
    for (const listed of this.#listed().filter(isSame)) {
      const folder = path.join(this.#folder, listed.folder);
      // Its user may have removed it, and measured another one since.
      if (!existsSync(path.join(folder, RECORD_FILE))) continue;
      const record = readRunRecord(folder);
      if (record.runId === listed.runId && isWhole(record)) return { folder, record };
    }
    return null;
  }

  /**
   * Resolves to the run, or to why there is none: its script refused to begin, or failed.
   * @throws the reason of the signal, if that ended it
   */
  async run({ name, words }: PlannedRun, signal: AbortSignal): Promise<DoneRun | NoRun> {
    const folder = this.#newFolder(name);
    const { exitCode, stderr = '' } = await runTreeScript(ROOT, [...words, '--out', folder], {
      signal,
      isHeard: true,
    });
    const [last = ''] = String(stderr).trimEnd().split('\n').slice(-1);
    if (!existsSync(path.join(folder, RECORD_FILE))) {
      return { reason: last, hasFailed: exitCode !== REFUSED };
    }
    const record = readRunRecord(folder);
    if (exitCode === 0 && isWhole(record)) {
      const { runId } = record;
      this.#list({ folder: path.basename(folder), runId, command: words.join(' ') });
    }
    return { folder, record };
  }

  #newFolder(name: string): string {
    for (let i = 1; ; i++) {
      const folder = path.join(this.#folder, `${name}-${i}`);
      if (!existsSync(folder)) return folder;
    }
  }

  get #file(): string {
    return path.join(this.#folder, 'reproduced.json');
  }

  #listed(): readonly Listed[] {
    if (!existsSync(this.#file)) return [];
    try {
      const listed: unknown = JSON.parse(readFileSync(this.#file, 'utf8'));
      if (!Array.isArray(listed)) throw new TypeError('it is no list');
      return listed as readonly Listed[];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new UsageError(`The list of runs ${this.#file} is damaged (${reason}): remove it.`, {
        cause: error,
      });
    }
  }

  #list(run: Omit<Listed, 'version'>): void {
    const all = [...this.#listed(), { ...run, version: codeVersion() }];
    writeFileAtomically(this.#file, `${JSON.stringify(all, null, 2)}\n`);
  }
}
