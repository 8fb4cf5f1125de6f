/**
 * `./run.sh options`: writes docs/options.md, the options of all scripts on one page, from what the
 * scripts themselves say.
 *
 * A test compares the page with every script's `--help`, so an option that is added or changed
 * cannot be forgotten.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { execa } from 'execa';
import { runCommand } from '#harness';
import { optionsPage, type ScriptHelp } from './page.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const PAGE = path.join(ROOT, 'docs/options.md');
const specification = {
  script: 'options',
  description: 'Writes docs/options.md, the options of all scripts, from what each says of itself.',
  options: {},
  examples: [{ command: './run.sh options', does: 'Writes the page anew.' }],
} as const;

await runCommand(specification, async () => {
  const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const helps: ScriptHelp[] = [];
  for (const script of Object.keys(scripts).toSorted()) {
    const program = /^node (\S+\.ts)$/.exec(scripts[script] ?? '')?.[1];
    if (program === undefined) continue;
    const { stdout } = await execa(process.execPath, [program, '--help'], { cwd: ROOT });
    helps.push({ script, help: stdout });
  }
  writeFileSync(PAGE, optionsPage(helps));
  process.stdout.write(`docs/options.md: ${helps.length} scripts\n`);
});
