/**
 * `./run.sh pack:engine`: makes the engine a package of its own, percolator-engine-<version>.tgz,
 * for projects outside of this repository (build-package.ts).
 */
import path from 'node:path';
import { outputFolder, runCommand } from '#harness';
import { buildPackage } from './build-package.ts';

const specification = {
  script: 'pack:engine',
  description:
    'Builds the engine as a package of its own, in JavaScript with declarations, for Node 22.13 and newer, and prints ' +
    'the path of the tarball. Install that with `npm install <tarball>`.',
  options: {
    out: outputFolder({
      description: 'folder in which the tarball is put',
      default: '.',
      defaultText: 'the current folder',
    }),
  },
  examples: [
    { command: './run.sh pack:engine', does: 'Puts percolator-engine-0.1.0.tgz into this folder.' },
  ],
} as const;

await runCommand(specification, async ({ out }, { signal }) => {
  const { tarball, files } = await buildPackage(path.resolve(out), signal);
  process.stdout.write(`${tarball} (${files.length} files)\n`);
});
