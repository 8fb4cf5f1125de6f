/**
 * Runs scripts as a user does: each in a process of its own or, if they only refuse or help, many
 * in one. For tests only.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execaNode, type Options } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { readRunRecord, type RunRecord } from '#results';
import type { CommandLine, EndedProgram } from './in-turn.fixture.ts';

const IN_TURN = new URL('in-turn.fixture.ts', import.meta.url);

export interface EndedScript extends EndedProgram {
  /** The folder given with `--out`. */
  readonly out: string;
  readonly record: () => RunRecord;
}

export async function runProgram(
  program: string | URL,
  words: readonly string[],
  options: Pick<Options, 'env' | 'timeout'> = {},
): Promise<EndedProgram> {
  const ended = await execaNode(program, words, { reject: false, ...options });
  const { exitCode, stdout, stderr } = ended;
  return { exitCode, stdout, stderr };
}

/**
 * Carries out command lines one after the other in one process, which takes a tenth of the time.
 * Only for those that end before they start anything (in-turn.fixture.ts).
 */
export async function runInTurn(
  lines: readonly CommandLine[],
  env: Readonly<Record<string, string>> = {},
): Promise<readonly EndedProgram[]> {
  const { stdout } = await execaNode(IN_TURN, [JSON.stringify(lines)], { env });
  return JSON.parse(stdout) as readonly EndedProgram[];
}

/** Asserts that the script answers each of these mistakes with one sentence and exit code 2. */
export async function assertRefused(
  program: string,
  mistakes: readonly (readonly [words: readonly string[], sentence: RegExp])[],
): Promise<void> {
  const ended = await runInTurn(mistakes.map(([words]) => ({ program, words })));
  for (const [i, [words, sentence]] of mistakes.entries()) {
    const { exitCode, stdout, stderr = '' } = ended[i] ?? {};
    assert.match(stderr, sentence);
    const [, ...more] = stderr.split('\n').filter((line) => !line.startsWith('Plan: '));
    assert.deepEqual([exitCode, stdout, more], [2, '', []], words.join(' '));
  }
}

/** Runs a script that measures, into a new folder. */
export async function runScript(
  program: string | URL,
  words: readonly string[],
  options: Pick<Options, 'env' | 'timeout'> = {},
): Promise<EndedScript> {
  const out = path.join(temporaryFolder(), 'run');
  const ended = await runProgram(program, [...words, '--out', out], options);
  return { ...ended, out, record: () => readRunRecord(out) };
}

/** Runs a program, and interrupts it once its standard error holds the text. */
export async function interruptProgram(
  program: string | URL,
  words: readonly string[],
  when: string,
): Promise<EndedProgram> {
  const child = execaNode(program, words, { reject: false });
  let heard = '';
  child.stderr.on('data', (text: Buffer) => {
    if (heard.includes(when)) return;
    heard += String(text);
    if (heard.includes(when)) child.kill('SIGINT');
  });
  const { exitCode, stdout, stderr } = await child;
  return { exitCode, stdout, stderr };
}

/** Runs a script that measures, and interrupts it once its standard error holds the text. */
export async function interruptScript(
  program: string | URL,
  words: readonly string[],
  when: string,
): Promise<EndedScript> {
  const out = path.join(temporaryFolder(), 'run');
  const ended = await interruptProgram(program, [...words, '--out', out], when);
  return { ...ended, out, record: () => readRunRecord(out) };
}

/** Runs a script that measures, and interrupts it once its record has numbers. */
export async function interruptOnceMeasured(
  program: string | URL,
  words: readonly string[],
): Promise<EndedScript> {
  const out = path.join(temporaryFolder(), 'run');
  const child = execaNode(program, [...words, '--out', out], { reject: false });
  const { nodeChildProcess: script } = child;
  const isOver = (): boolean => (script.exitCode ?? script.signalCode) !== null;
  while (!isOver() && !hasNumbers(out)) await sleep(20);
  child.kill('SIGINT');
  const { exitCode, stdout, stderr } = await child;
  return { exitCode, stdout, stderr, out, record: () => readRunRecord(out) };
}

function hasNumbers(out: string): boolean {
  try {
    return (readRunRecord(out).findings?.tables.length ?? 0) > 0;
  } catch {
    return false; // The record has not been written yet.
  }
}
