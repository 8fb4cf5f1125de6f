/**
 * Command lines of `percolator <command> [options]`: what each command takes, its help, and one
 * sentence for a mistake.
 *
 * Node's `parseArgs` splits the words; a package that others install should bring few others along.
 * What it does not do is here: values are checked by the rules that the engine's options have, help
 * is made of the same table, and a name that nearly fits is suggested.
 */
import { parseArgs } from 'node:util';
import { check, type OptionRule } from '../base/options.ts';
import { optionOf, SETTINGS, variableOf, wrong } from './configuration.ts';

export interface CommandOption {
  readonly description: string;
  /** Absent for a flag, which takes no value. */
  readonly placeholder?: string;
  /** For the value of the text, or the text itself. */
  readonly rule?: OptionRule;
  /** Turns the text into a value. */
  readonly parse?: (text: string) => unknown;
  /** May be given several times; its value is a list. */
  readonly repeats?: boolean;
}

export interface Command {
  readonly name: string;
  /** The words after the name, each in the form of the help: `TABLE`, `[ROW]`. */
  readonly words: readonly string[];
  /** One line. */
  readonly does: string;
  readonly options: Readonly<Record<string, CommandOption>>;
  /** Whether it takes the settings of percolator.json as options. */
  readonly isConfigured: boolean;
  /** A further line of the help. */
  readonly more?: string;
  /** Resolves to the exit code. */
  readonly run: (given: Given) => Promise<number>;
}

/** What a command line says, checked. */
export interface Given {
  readonly words: readonly string[];
  /** Whether the option was given. */
  has(option: string): boolean;
  /** The values of options, which were checked; undefined for one that was not given. */
  text(option: string): string | undefined;
  number(option: string): number | undefined;
  list(option: string): readonly string[] | undefined;
  /** Texts of the options that are settings. */
  readonly settings: Readonly<Record<string, string | boolean | undefined>>;
}

/** For `--config` and the settings. */
const CONFIGURED: Readonly<Record<string, CommandOption>> = {
  config: {
    placeholder: 'file',
    description:
      'the configuration (default percolator.json, or the file that PERCOLATOR_CONFIG names)',
  },
  ...Object.fromEntries(
    SETTINGS.map(({ name, description, placeholder, kind }): [string, CommandOption] => [
      optionOf(name),
      kind === 'flag' ? { description } : { description, placeholder },
    ]),
  ),
};

const HELP: CommandOption = { description: 'prints this' };

/** A whole number from `min`, as the text of an option. */
export function wholeNumber(placeholder: string, description: string, min = 1): CommandOption {
  const parse = (text: string): unknown => (/^\d{1,15}$/.test(text) ? Number(text) : text);
  const accepts = (value: unknown): boolean => typeof value === 'number' && value >= min;
  const rule = { expected: `a whole number of at least ${min}`, accepts };
  return { placeholder, description, parse, rule };
}

/** @throws INVALID_ARGUMENT for a mistake, in one sentence */
export function parseCommandLine(command: Command, argv: readonly string[]): Given | 'help' {
  const known = optionsOf(command);
  const types = Object.entries(known).map(([name, { placeholder }]) => {
    return [
      name,
      { type: placeholder === undefined ? 'boolean' : 'string', multiple: true },
    ] as const;
  });
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(types),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const words: string[] = [];
  const texts = new Map<string, (string | true)[]>();
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    if (token.rawName === '-h' || token.name === 'help') return 'help';
    const option = token.rawName.startsWith('--') ? known[token.name] : undefined;
    if (option === undefined) throw unknownOption(command, token.rawName, Object.keys(known));
    texts.set(token.name, [...(texts.get(token.name) ?? []), textOf(token, option)]);
  }
  checkWords(command, words);
  return given(words, texts, known);
}

/** A value that begins with a dash is more likely another option than a value. */
function textOf(
  token: {
    readonly rawName: string;
    readonly value: string | undefined;
    readonly inlineValue: boolean | undefined;
  },
  { placeholder }: CommandOption,
): string | true {
  const { rawName, value, inlineValue } = token;
  if (placeholder === undefined) {
    if (value !== undefined) throw wrong(`${rawName} takes no value, but ${value} was given`);
    return true;
  }
  if (value === undefined || (inlineValue !== true && value.startsWith('--'))) {
    throw wrong(`${rawName} needs a value: ${rawName} <${placeholder}>`);
  }
  return value;
}

function given(
  words: readonly string[],
  texts: ReadonlyMap<string, readonly (string | true)[]>,
  known: Readonly<Record<string, CommandOption>>,
): Given {
  const options = new Map<string, unknown>();
  const settings: Record<string, string | boolean | undefined> = {};
  for (const [name, all] of texts) {
    const { parse = (text: string) => text, rule, repeats = false } = known[name] ?? {};
    if (all.length > 1 && !repeats) throw wrong(`--${name} was given ${all.length} times`);
    const values = all.map((text) => (text === true ? true : parse(text)));
    for (const value of values) if (rule !== undefined) check(`--${name}`, value, rule);
    options.set(name, repeats ? values : values[0]);
    if (Object.hasOwn(CONFIGURED, name)) settings[name] = all[0];
  }
  return {
    words,
    settings,
    has: (option) => options.has(option),
    text: (option) => options.get(option) as string | undefined,
    number: (option) => options.get(option) as number | undefined,
    list: (option) => options.get(option) as readonly string[] | undefined,
  };
}

function checkWords({ name, words: wanted }: Command, words: readonly string[]): void {
  const missing = wanted.slice(words.length).find((word) => !word.startsWith('['));
  if (missing !== undefined) {
    throw wrong(`percolator ${name} needs ${missing}: percolator ${[name, ...wanted].join(' ')}`);
  }
  const extra = words[wanted.length];
  if (extra === undefined) return;
  throw wrong(
    `percolator ${name} takes ${wanted.length === 0 ? 'no words' : wanted.join(' ')}, but ${JSON.stringify(extra)} was given`,
  );
}

function optionsOf(command: Command): Readonly<Record<string, CommandOption>> {
  const configured = command.isConfigured ? CONFIGURED : {};
  return { ...command.options, ...configured, help: HELP };
}

function unknownOption(command: Command, name: string, known: readonly string[]): Error {
  const near = nearest(name.replace(/^-+/, ''), known);
  const hint = near === undefined ? '' : `; the nearest is --${near}`;
  return wrong(`percolator ${command.name} has no option ${name}${hint}`);
}

/** The name with the fewest changes of a letter; undefined if more than half of them change. */
export function nearest(wanted: string, names: readonly string[]): string | undefined {
  const ranked = names.map((name) => ({ name, changes: changesBetween(wanted, name) }));
  const [best] = ranked.toSorted((a, b) => a.changes - b.changes);
  return best !== undefined && best.changes <= wanted.length / 2 ? best.name : undefined;
}

function changesBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (const [i, letter] of from.split('').entries()) {
    const next = [i + 1];
    for (const [j, other] of to.split('').entries()) {
      const [diagonal = 0, above = 0, left = 0] = [row[j], row[j + 1], next[j]];
      next.push(Math.min(diagonal + (letter === other ? 0 : 1), above + 1, left + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/* Help. */

const WIDTH = 98;

export function helpOf(command: Command): string {
  const { name, words, does, options, isConfigured, more } = command;
  const usage = ['percolator', name, ...words, '[options]'].join(' ');
  return [
    `Usage: ${usage}`,
    '',
    ...wrapped(does, 0),
    ...(more === undefined ? [] : ['', more]),
    '',
    'Options:',
    ...optionLines({ ...options, help: HELP }),
    ...(isConfigured ? ['', ...settingLines()] : []),
    '',
  ].join('\n');
}

export function helpOfAll(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length)) + 2;
  return [
    'Usage: percolator <command> [options]',
    '',
    'The processes of a Percolator database on many hosts, and tools for its operator.',
    '',
    'Commands:',
    ...commands.flatMap(({ name, does }) => hanging(`  ${name.padEnd(width)}`, does)),
    '',
    'percolator <command> --help prints the options of a command.',
    '',
    ...settingLines(),
    '',
  ].join('\n');
}

function settingLines(): readonly string[] {
  return [
    'Settings, also in percolator.json, and in environment variables like',
    `${variableOf('tls.key')}; an option comes before a variable, and that before the file:`,
    ...optionLines(CONFIGURED),
  ];
}

function optionLines(options: Readonly<Record<string, CommandOption>>): readonly string[] {
  return Object.entries(options).flatMap(([name, { placeholder, description }]) => {
    const words = placeholder === undefined ? `  --${name}` : `  --${name} <${placeholder}>`;
    return hanging(words.padEnd(30), description);
  });
}

/** The first line begins with `head`, the others below the text. */
function hanging(head: string, text: string): readonly string[] {
  const [first = '', ...others] = wrapped(text, head.length);
  return [`${head} ${first}`, ...others.map((line) => `${' '.repeat(head.length)} ${line}`)];
}

function wrapped(text: string, indent: number): readonly string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + word.length + 1 > WIDTH - indent) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
