/**
 * `./run.sh archive`: packs what an installation without a network needs (build-archive.ts).
 *
 * With `--check` it is installed and run in a network namespace of its own, which has no interface
 * that is up, and with a PATH that has neither Node.js nor npm.
 *
 * Exit codes: 0 done; 1 with `--check`, what was installed does not run; 2 it cannot be made here.
 */
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { flag, outputFolder, runCommand, UsageError } from '#harness';
import { ROOT } from '../../harness/hosts/code-version.ts';
import { buildArchive } from './build-archive.ts';

/** Runs in the namespace, after a proof that the network is cut: there is no route to anywhere. */
const TRIAL = `
set -eu
export HOME="$2" PATH="$2/bin"
[ "$(wc -l < /proc/net/route)" -le 1 ] || { echo 'the network is not cut' >&2; exit 1; }
sh "$1/install.sh" "$2/installed"
cd "$2/installed"
./run.sh bench:micro --profile smoke --store embedded --out "$2/run"
`;

/** What the trial may call. */
const PROGRAMS: readonly string[] =
  'awk cat cut dirname git head readlink rm sed sh sha256sum tar wc'.split(' ');

const specification = {
  script: 'archive',
  description:
    'Packs the repository at its commit and the installed packages, Node.js among them, into a folder from which ' +
    'install.sh installs them without a network, on machines of this platform; about 900 MB. Uncommitted changes ' +
    'are not in it, and neither are HBase, Hadoop and Java.',
  options: {
    out: outputFolder({
      description: 'folder in which the archive is put',
      default: () => path.relative(process.cwd(), path.join(ROOT, '..')) || '.',
      defaultText: 'next to the repository',
    }),
    check: flag({
      description:
        'install it into a temporary folder and run an experiment there, with the network cut (on Linux)',
    }),
  },
  examples: [
    {
      command: './run.sh archive --check',
      does: 'Packs, and proves that it runs without a network.',
    },
  ],
} as const;

await runCommand(specification, async ({ out, check }, { signal }) => {
  if (check) await refuseWithoutNamespaces();
  const folder = await buildArchive(path.resolve(out), signal);
  process.stdout.write(`${folder}\n`);
  if (check) process.stdout.write(`${await checkOffline(folder, signal)}\n`);
});

/**
 * Resolves to what the experiment printed.
 * @throws the error of the installation or the run
 */
async function checkOffline(archive: string, signal: AbortSignal): Promise<string> {
  const work = await mkdtemp(path.join(tmpdir(), 'percolator-archive-'));
  try {
    await linkPrograms(path.join(work, 'bin'));
    const words = ['-rn', 'sh', '-c', TRIAL, 'trial', archive, work];
    const { stdout } = await execa('unshare', words, {
      stderr: ['inherit', 'pipe'],
      cancelSignal: signal,
    });
    return stdout;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** @throws UsageError where no network can be cut */
async function refuseWithoutNamespaces(): Promise<void> {
  const { failed } = await execa('unshare', ['-rn', 'true'], { reject: false });
  if (!failed) return;
  throw new UsageError(
    '--check cuts the network with a namespace (unshare -rn), which this machine does not allow.',
  );
}

/** A folder for PATH: Node.js and npm, which may be in `/usr/bin`, are not in it. */
async function linkPrograms(bin: string): Promise<void> {
  await mkdir(bin);
  for (const name of PROGRAMS) {
    const found = ['/usr/bin', '/bin'].map((folder) => path.join(folder, name)).find(existsSync);
    if (found !== undefined) await symlink(found, path.join(bin, name));
  }
}
