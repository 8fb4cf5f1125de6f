/**
 * `./run.sh artifact`: writes what is made from tables of the code and from the reference runs:
 * ARTIFACT.md (artifact-page.ts), docs/columns.md (columns-page.ts) and docs/run.schema.json.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { execa } from 'execa';
import { runCommand } from '#harness';
import { ROOT } from '../../harness/hosts/code-version.ts';
import { RECORD_SCHEMA } from '#results';
import { artifactPage } from './artifact-page.ts';
import { columnsPage } from './columns-page.ts';

const specification = {
  script: 'artifact',
  description:
    'Writes ARTIFACT.md, the claims of the paper for those who evaluate them; docs/columns.md, the columns of all tables; ' +
    'and docs/run.schema.json, the shape of a record.',
  options: {},
  examples: [{ command: './run.sh artifact', does: 'Writes all three again.' }],
} as const;

await runCommand(specification, async () => {
  const page = await artifactPage(async (script) => {
    return (await execa(path.join(ROOT, 'run.sh'), [script, '--help'])).stdout;
  });
  const texts = {
    'ARTIFACT.md': page,
    'docs/columns.md': columnsPage(),
    'docs/run.schema.json': JSON.stringify(RECORD_SCHEMA),
  };
  for (const [file, content] of Object.entries(texts)) {
    writeFileSync(path.join(ROOT, file), content);
  }
  const formatter = path.join(ROOT, 'node_modules/.bin/oxfmt');
  await execa(process.execPath, [formatter, ...Object.keys(texts)], { cwd: ROOT });
  process.stdout.write(`${Object.keys(texts).join('\n')}\n`);
});
