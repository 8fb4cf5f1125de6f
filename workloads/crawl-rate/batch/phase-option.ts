/**
 * The only option of the streaming programs, `--phase`; anything else ends them with exit code 2.
 */
import { parseArgs } from 'node:util';
import { PHASES, type Phase } from './cluster-job.ts';

/** Uses Node's own parser, not a library: these programs start many times and must start fast. */
export function phaseFromCommandLine(program: string): Phase {
  try {
    return parsePhase();
  } catch (error) {
    return refuse(program, error instanceof Error ? error.message : String(error));
  }
}

function refuse(program: string, reason: string): never {
  process.stderr.write(`${program}: ${reason}\n`);
  process.exit(2);
}

function parsePhase(): Phase {
  const { values } = parseArgs({ options: { phase: { type: 'string' } } });
  const phase = PHASES.find((known) => String(known) === values.phase);
  if (phase !== undefined) return phase;
  throw new Error(`--phase is ${values.phase ?? 'missing'}; it must be 1, 2 or 3`);
}
