/** Verdicts, written line by line as they are found, so that a stopped run loses nothing. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { MachineMutant } from './generate.ts';
import { digestOf, readSource } from './folders.ts';
import type { Verdict } from './verdict.ts';

export class Ledger {
  readonly #file: string;
  readonly #verdicts = new Map<string, Verdict>();

  /** Reads the existing verdicts; the newest verdict on a mutant counts. */
  constructor(file: string) {
    this.#file = file;
    mkdirSync(path.dirname(file), { recursive: true });
    if (!existsSync(file)) return;
    const text = readFileSync(file, 'utf8');
    for (const line of text.split('\n')) {
      const verdict = parseLine(line);
      if (verdict !== undefined) this.#keep(verdict);
    }
    if (!text.endsWith('\n')) appendFileSync(file, '\n');
  }

  add(verdict: Verdict): void {
    appendFileSync(this.#file, `${JSON.stringify(verdict)}\n`);
    this.#keep(verdict);
  }

  /** Also undefined if the file has changed since. */
  verdictOn({ file, key }: MachineMutant): Verdict | undefined {
    const verdict = this.#verdicts.get(`${file} ${key}`);
    return verdict?.digest === this.#digestOf(file) ? verdict : undefined;
  }

  #keep(verdict: Verdict): void {
    this.#verdicts.set(`${verdict.file} ${verdict.key}`, verdict);
  }

  readonly #digests = new Map<string, string>();

  #digestOf(file: string): string {
    const digest = this.#digests.get(file) ?? digestOf(readSource(file));
    this.#digests.set(file, digest);
    return digest;
  }
}

/** Undefined for a line that was cut short, because its process was ended while it wrote. */
function parseLine(line: string): Verdict | undefined {
  try {
    return JSON.parse(line) as Verdict;
  } catch {
    return undefined;
  }
}
