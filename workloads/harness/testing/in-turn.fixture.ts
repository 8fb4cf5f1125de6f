/**
 * Carries out command lines one after the other in this process, and prints how each ended. Only
 * for those that end before they start anything: a request for help, or a mistake.
 *
 * Each script is loaded anew, and then reads `process.argv`. The modules that it imports are loaded
 * once, which is what saves the time.
 */
import { pathToFileURL } from 'node:url';

export interface EndedProgram {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandLine {
  /** The path of the script. */
  readonly program: string;
  readonly words: readonly string[];
}

class Exit extends Error {}

const [node = '', , list = '[]'] = process.argv;
const write = process.stdout.write.bind(process.stdout);
// Every script listens for signals and errors.
for (const one of [process, process.stdout, process.stderr]) one.setMaxListeners(0);
process.exit = (code) => {
  process.exitCode = code;
  throw new Exit();
};

const ended: EndedProgram[] = [];
for (const [i, { program, words }] of (JSON.parse(list) as CommandLine[]).entries()) {
  ended.push(await carryOut(`${pathToFileURL(program).href}?${i}`, [node, program, ...words]));
}
process.exitCode = 0;
write(JSON.stringify(ended));

async function carryOut(script: string, argv: string[]): Promise<EndedProgram> {
  const said = { stdout: '', stderr: '' };
  process.argv = argv;
  process.exitCode = 0;
  for (const stream of ['stdout', 'stderr'] as const) {
    process[stream].write = (text: string | Uint8Array): boolean => {
      said[stream] += String(text);
      return true;
    };
  }
  await import(script).catch((error: unknown) => {
    if (!(error instanceof Exit)) throw error;
  });
  const { stdout, stderr } = said;
  return { exitCode: process.exitCode, stdout: stdout.trimEnd(), stderr: stderr.trimEnd() };
}
