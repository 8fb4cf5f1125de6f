/**
 * A job's functions as a program under Hadoop Streaming's contract, for any engine that keeps it:
 *
 *     streaming.sh node streaming-program.ts map|reduce <url of the job's module> <its parameters>
 *
 * The parameters are `{"parameters": ...}` in base64url, which no shell and no engine changes.
 *
 * The program ends with exit code 0 only when all is written. If the job ends it before, also with
 * code 0, it fails; and it does not wait for what the job goes on with, such as a timer.
 */
import { isFinal, lateWork, loadJob, MapReduceError } from './job.ts';
import { streamMap, streamReduce } from './streaming.ts';

/** The descriptor that streaming.sh opens. */
const RECORDS = 3;
/** Set by an engine that ends the lines of a result at carriage returns, too. */
const isEndedByReturns = process.env['PERCOLATOR_LINES_END_AT_RETURNS'] === '1';

let isOver = false;
process.on('exit', (code) => {
  if (isOver) return;
  complain(`the job ended its process (exit code ${code}) before the end of its records`);
  process.exitCode = code === 0 ? 1 : code;
});
process.on('uncaughtException', failWith);

const [side = '', url = '', parameters = ''] = process.argv.slice(2);
try {
  await run();
  end(0);
} catch (error) {
  failWith(error);
}

async function run(): Promise<void> {
  if (side !== 'map' && side !== 'reduce') {
    refuse(`the first argument is "${side}"; it must be map or reduce`);
  }
  const given = decoded();
  const job = await loadJob(url, given);
  if (side === 'map') streamMap(job, { output: RECORDS });
  else streamReduce(job, { output: RECORDS, isEndedByReturns });
  await lateWork();
}

function decoded(): unknown {
  if (parameters === '') return undefined;
  try {
    const text = Buffer.from(parameters, 'base64url').toString('utf8');
    return (JSON.parse(text) as { readonly parameters?: unknown }).parameters;
  } catch {
    return refuse(`the parameters "${parameters}" cannot be read`);
  }
}

function refuse(reason: string): never {
  complain(reason);
  end(2);
}

function failWith(error: unknown): never {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  // The reader has ended, and says why.
  if (code === 'EPIPE') end(1);
  if (error instanceof MapReduceError) {
    complain(error.message, error.code);
    end(isFinal(error.code) ? 2 : 1);
  }
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  complain(error instanceof Error ? error.message : String(error));
  end(1);
}

/** One line, which engines/program.ts looks for in what the engine prints. */
function complain(reason: string, code = ''): void {
  const line = reason.replaceAll(/\s*[\r\n\u2028\u2029]\s*/g, ' ');
  process.stderr.write(`streaming-program${code === '' ? '' : ` ${code}`}: ${line}\n`);
}

function end(code: number): never {
  isOver = true;
  process.exit(code);
}
