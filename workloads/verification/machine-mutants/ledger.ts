/** Verdicts, written line by line as they are found, so that a stopped run loses nothing. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '#harness';
import { checkFolderWritable, checkReadableFile } from '../../harness/command-line/path-checks.ts';
import type { MachineMutant } from './generate.ts';
import { digestOf, readSource } from './folders.ts';
import type { Verdict } from './verdict.ts';

/** Which survivors are judged again. */
export interface Again {
  /** Whether a reason for the mutant's survival is listed. */
  readonly isExplained: boolean;
  /** Those whose survival is not explained. */
  readonly survivors: boolean;
  /** Those whose verdict came from a part of the judges. */
  readonly thorough: boolean;
}

export class Ledger {
  readonly #file: string;
  readonly #verdicts = new Map<string, Verdict>();

  /**
   * Reads the existing verdicts; the newest verdict on a mutant counts. `anew` removes them.
   * @throws UsageError if the file cannot be read or made, or holds something else; it then stays
   * as it is
   */
  constructor(file: string, { anew = false }: { readonly anew?: boolean } = {}) {
    this.#file = file;
    const text = textOf(file);
    const verdicts = text.split('\n').map(parseLine);
    const read = verdicts.filter((verdict) => verdict !== undefined);
    if (text !== '' && read.length === 0) {
      throw new UsageError(
        `--ledger must be a file of verdicts, but ${JSON.stringify(file)} holds something else.`,
      );
    }
    if (anew) {
      rmSync(file, { force: true });
      return;
    }
    for (const verdict of read) this.#keep(verdict);
    if (text !== '' && !text.endsWith('\n')) appendFileSync(file, '\n');
  }

  add(verdict: Verdict): void {
    appendFileSync(this.#file, `${JSON.stringify(verdict)}\n`);
    this.#keep(verdict);
  }

  /** Also undefined if the file has changed since. */
  verdictOn({ file, key }: MachineMutant): Verdict | undefined {
    const verdict = this.#verdicts.get(`${file} ${key}`);
    return verdict?.digest === digestOf(readSource(file)) ? verdict : undefined;
  }

  /** Whether it has no verdict, or has survived and is to be judged again. */
  awaitsJudges(mutant: MachineMutant, { isExplained, survivors, thorough }: Again): boolean {
    const verdict = this.verdictOn(mutant);
    if (verdict === undefined) return true;
    if (verdict.killedBy !== undefined) return false;
    return (survivors && !isExplained) || (thorough && verdict.isThorough !== true);
  }

  #keep(verdict: Verdict): void {
    this.#verdicts.set(`${verdict.file} ${verdict.key}`, verdict);
  }
}

/** Empty if there is no file yet; its folder is there afterwards. */
function textOf(file: string): string {
  if (existsSync(file)) {
    checkReadableFile('--ledger', file);
    return readFileSync(file, 'utf8');
  }
  checkFolderWritable('The folder of --ledger', path.dirname(file));
  mkdirSync(path.dirname(file), { recursive: true });
  return '';
}

/** Undefined for a line that was cut short, because its writer ended in the middle of it. */
function parseLine(line: string): Verdict | undefined {
  try {
    const parsed = JSON.parse(line) as Partial<Verdict> | null;
    return typeof parsed?.digest === 'string' ? (parsed as Verdict) : undefined;
  } catch {
    return undefined;
  }
}
