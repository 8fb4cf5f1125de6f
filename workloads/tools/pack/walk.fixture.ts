/**
 * Walks docs/hosts.md inside namespaces: a host each for 10.0.0.1, 10.0.0.2, 10.0.0.3 and the HBase
 * of the page, and a shell on each of the first three, in which the page's own blocks run.
 *
 *     walk.fixture.ts <page> <tarball> [without-hbase]
 *
 * Two things are other than for a reader: the addresses, which are those of the namespaces; and
 * `scp`, which copies to the other host's folder, because no host here has an SSH server. npm has
 * no registry here, and installs from its cache, which the test has filled.
 *
 * Prints what the test compares, as JSON, or fails in one sentence with the block in it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process, { argv, env } from 'node:process';
import { startHBase } from '#engine';
import { isInside, obeyOutside, runInside } from '../../harness/hosts/inside.ts';
import { type Host, HostNetwork } from '../../harness/hosts/network.ts';
import { monotonicMs } from '../../harness/load/monotonic-clock.ts';
import { HOST_NUMBERS, stepsOf } from './hosts-page.fixture.ts';

/** What the test compares. */
export interface Walked {
  /** How long the page's blocks took, in seconds; HBase was there before. */
  readonly seconds: number;
  /** What the page says that commands print, and what they have printed. */
  readonly printed: readonly { readonly said: string; readonly seen: string }[];
  /** `percolator status --json`, at the end. */
  readonly status: unknown;
}

const SCP = `
scp() { case "$2" in *:) cp "$1" "../\${2%:}/" ;; *) cp "$1" "../\${2%%:*}/\${2#*:}" ;; esac; }
`;

/** A shell on a host, which ends with its first command that fails. */
class Shell {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #said = '';
  #complaints = '';
  #lines = 0;
  #wake: () => void = () => {};

  constructor({ enter: [program = '', ...words] }: Host, folder: string) {
    this.#child = spawn(program, [...words, 'sh', '-e'], { cwd: folder });
    this.#ended = new Promise((resolve) => {
      this.#child.once('close', () => resolve());
    });
    this.#child.stdin?.on('error', () => {}); // It has ended, which is told below.
    this.#child.stdout?.on('data', (text: Buffer) => {
      this.#said += String(text);
      this.#wake();
    });
    this.#child.stderr?.on('data', (text: Buffer) => (this.#complaints += String(text)));
    this.#child.stdin?.write(SCP);
  }

  /** Resolves to what its commands print; rejects if one fails. */
  async run(script: string): Promise<string> {
    const mark = `block ${++this.#lines} is done`;
    this.#said = '';
    const done = new Promise<void>((resolve) => {
      this.#wake = () => this.#said.includes(`${mark}\n`) && resolve();
    });
    this.#child.stdin?.write(`${script}\necho ${mark}\n`);
    await Promise.race([done, this.#ended]);
    if (this.#said.includes(`${mark}\n`)) return this.#said.replace(`${mark}\n`, '');
    throw new Error(`a command failed in\n${script}\n${this.#said}${this.#complaints}`);
  }
}

if (!isInside()) process.exitCode = await runInside(new AbortController().signal);
else {
  obeyOutside();
  try {
    console.log(JSON.stringify(await walk()));
    process.exit(0); // The shells, and what they have started, end with the namespaces.
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  }
}

async function walk(): Promise<Walked> {
  const [, , page = '', tarball = '', mode] = argv;
  const network = await HostNetwork.make(HOST_NUMBERS.length + 1);
  const store = network.hosts[HOST_NUMBERS.length] as Host;
  const place = { regionServers: 1, placeOf: (): Host => store };
  const hbase = mode === undefined ? await startHBase({ environment: env, ...place }) : undefined;
  const [master = ''] = hbase?.servers ?? [];
  const here = (text: string): string =>
    text.replaceAll('10.0.0.9:16000', master).replaceAll('10.0.0.', '10.77.0.');
  const folders = HOST_NUMBERS.map((number) => {
    const folder = path.join(tmpdir(), `10.77.0.${number}`);
    mkdirSync(folder);
    copyFileSync(tarball, path.join(folder, path.basename(tarball)));
    return folder;
  });
  const shells = folders.map((folder, i) => new Shell(network.hosts[i] as Host, folder));
  const printed: Walked['printed'][number][] = [];
  let seen = '';
  const beganMs = monotonicMs();
  for (const step of stepsOf(readFileSync(page, 'utf8'))) {
    if (step.kind === 'file') {
      const content = here(step.content);
      for (const folder of folders) writeFileSync(path.join(folder, step.name), content);
    } else if (step.kind === 'prints') printed.push({ said: step.text, seen });
    else {
      seen = '';
      // As one reader would do it: one host after the other.
      for (const number of step.on) seen += await shells[number - 1]?.run(here(step.script));
    }
  }
  const seconds = (monotonicMs() - beganMs) / 1_000;
  const status = await shells[0]?.run('percolator status --json');
  await hbase?.stop();
  return { seconds, printed, status: JSON.parse(status ?? '') as unknown };
}
