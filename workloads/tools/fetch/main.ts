/**
 * `./run.sh fetch`: brings what optional parts of this project need, once: HBase and Hadoop from
 * Maven, and the checker of the model with pip. One sentence reports each that cannot be fetched
 * here; the parts that need it then say so, and their tests are skipped.
 */
import { fetchHBase } from '#engine';
import { runCommand } from '#harness';
import { fetchHadoop } from '../../harness/jvm/hadoop.ts';
import { fetchChecker } from '../../verification/model/checker.ts';

const specification = {
  script: 'fetch',
  description:
    'Downloads what optional parts need: HBase and Hadoop, with Maven, and the checker of the model, with Python’s ' +
    'pip; about 200 MB. What is here already is not fetched again. Exit code 1 if something is missing.',
  options: {},
  examples: [{ command: './run.sh fetch', does: 'Downloads everything that can be fetched here.' }],
} as const;

const tell = (line: string): void => void process.stderr.write(`${line}\n`);

await runCommand(specification, async () => {
  const parts = {
    HBase: () => fetchHBase(process.env, tell),
    Hadoop: () => fetchHadoop(tell),
    'the checker of the model': fetchChecker,
  };
  for (const [name, bring] of Object.entries(parts)) {
    try {
      await bring();
      process.stdout.write(`${name} is here.\n`);
    } catch (error) {
      process.stdout.write(`${name} is missing: ${reasonOf(error)}.\n`);
      process.exitCode = 1;
    }
  }
});

/** Of Maven and pip in many lines: no name of a host could be resolved, or none was reached. */
const NO_NETWORK =
  /unknown ?host|name resolution|could not transfer|NewConnectionError|unreachable|timed out/i;
const REASON_LENGTH_MAX = 200;

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (NO_NETWORK.test(message)) return 'it needs a network, once, and there is none, or no answer';
  const [line = ''] = message.split('\n', 1);
  return line.length > REASON_LENGTH_MAX ? `${line.slice(0, REASON_LENGTH_MAX)} ...` : line;
}
