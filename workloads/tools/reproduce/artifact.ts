/** `./run.sh artifact`: writes ARTIFACT.md (artifact-page.ts). */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { execa } from 'execa';
import { runCommand } from '#harness';
import { ROOT } from '../../harness/hosts/code-version.ts';
import { artifactPage } from './artifact-page.ts';

const specification = {
  script: 'artifact',
  description: 'Writes ARTIFACT.md, the claims of the paper for those who evaluate them.',
  options: {},
  examples: [{ command: './run.sh artifact', does: 'Writes the page anew.' }],
} as const;

await runCommand(specification, async () => {
  const page = await artifactPage(async (script) => {
    return (await execa(path.join(ROOT, 'run.sh'), [script, '--help'])).stdout;
  });
  writeFileSync(path.join(ROOT, 'ARTIFACT.md'), page);
  await execa(process.execPath, [path.join(ROOT, 'node_modules/.bin/oxfmt'), 'ARTIFACT.md'], {
    cwd: ROOT,
  });
  process.stdout.write('ARTIFACT.md\n');
});
