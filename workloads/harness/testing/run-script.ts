/** Runs scripts in processes of their own, as a user does. For tests only. */
import path from 'node:path';
import { execaNode, type Options } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { readRunRecord, type RunRecord } from '#results';

export interface EndedProgram {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

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

/** Runs a script that measures, into a new folder. */
export async function runScript(
  program: URL,
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

/** The same for a script that measures. */
export async function interruptScript(
  program: URL,
  words: readonly string[],
  when: string,
): Promise<EndedScript> {
  const out = path.join(temporaryFolder(), 'run');
  const ended = await interruptProgram(program, [...words, '--out', out], when);
  return { ...ended, out, record: () => readRunRecord(out) };
}
