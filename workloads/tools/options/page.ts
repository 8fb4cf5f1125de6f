/**
 * The page docs/options.md, from what each script says with `--help`. Options that many scripts
 * share, in the same words, are described once, at the top.
 */

export interface ScriptHelp {
  /** The script by its name in package.json: `bench:oracle`. */
  readonly script: string;
  readonly help: string;
}

/** Their descriptions are those of this script. */
const SHARED = new Set([
  'out',
  'watch',
  'json',
  'fail-on-target',
  'config',
  'verbose',
  'version',
  'help',
]);
const MODEL = 'bench:oracle';
/** The options that every script has. */
const OF_ALL = new Set(['config', 'verbose', 'version', 'help']);

const HEAD = `# Options of all scripts

<!-- Written by \`./run.sh options\` from the scripts' own \`--help\`. -->

Relative paths count from the folder of the caller, also with \`npm run <script> --\`.

Every script has the last four of these options. Below, a script that has others of them only names them.

`;

export function optionsPage(helps: readonly ScriptHelp[]): string {
  const model = helps.find(({ script }) => script === MODEL)?.help ?? '';
  const shared = optionsIn(model).filter(({ name }) => SHARED.has(name));
  const known = new Set(shared.map(wordsOf));
  const sections = helps.map(({ script, help }) => {
    const left = optionsIn(help).filter((option) => known.has(wordsOf(option)));
    const text = left.reduce((rest, option) => rest.replace(option.text, ''), help.trim());
    const named = left.filter(({ name }) => !OF_ALL.has(name)).map(({ name }) => `--${name}`);
    const more = named.length === 0 ? '' : `  and ${named.join(', ')}\n`;
    return `## ${script}\n\n${block(withMore(text, more))}`;
  });
  const text = shared.map((option) => option.text).join('');
  return [HEAD + block(text.replaceAll(RUN_FOLDER, 'results/runs/<name>')), ...sections].join('\n');
}

/** The help with a further line below its options, whose heading goes if there are none. */
function withMore(help: string, more: string): string {
  return help.replace(/^Options:\n(?: .*\n)*/m, `$&${more}`).replace(/^Options:\n\n/m, '');
}

interface HelpOption {
  readonly name: string;
  /** Its lines. */
  readonly text: string;
}

const RUN_FOLDER = /results\/runs\/[\w-]+(?=-<UTC)/g;

/** The options of a help, whose descriptions continue on further lines. */
function optionsIn(help: string): readonly HelpOption[] {
  const options = `${help.trimEnd()}\n`.matchAll(/^ {2}(?:-h, )?--([\w-]+).*\n(?: {4,}.*\n)*/gm);
  return [...options].map(([text, name = '']) => ({ name, text }));
}

/** The option in one line, the same for all scripts if only its layout differs. */
function wordsOf({ text }: HelpOption): string {
  return text.trim().replaceAll(/\s+/g, ' ').replaceAll(RUN_FOLDER, '');
}

function block(text: string): string {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\`\n`;
}
