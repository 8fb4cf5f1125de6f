/**
 * The user interface of every script in this project: `--help`, options, exit codes, ctrl-C.
 *
 *   1. Parse the options (commander), those of a file (config-file.ts), and each value
 *      (options.ts).
 *   2. Refuse an option that would have no effect, for example `--batch-rows` without
 *      `--batching on`.
 *   3. Check the paths (may the output folder be written, can the input files be read?), then what
 *      every script needs of the machine (surroundings.ts).
 *   4. Only then run the action.
 *
 * So a mistake on the command line is reported at once, before anything is written. Exit codes: 0
 * done; 1 an error of this program or of the machine, its stack only with `--verbose` or
 * PERCOLATOR_DEBUG=1; 2 a `UsageError`, one sentence; 130 or 143 interrupted by a signal.
 *
 * This file knows nothing about any experiment, and does not retry, log or measure.
 */
import { Command, CommanderError, Option as CommanderOption } from 'commander';
import { readConfigFile } from './config-file.ts';
import {
  abortOnSignals,
  commandOf,
  goToCaller,
  repeatingCommand,
  versionText,
} from './invocation.ts';
import { flag, parseOption, text, type Option } from './options.ts';
import { checkSurroundings } from './surroundings.ts';
import { firstErrorOf, printable, UsageError } from '#results';

export interface CommandSpecification<O extends ScriptOptions, A extends ScriptOptions> {
  /** The script by its name in package.json: `bench:crawl-rate`. */
  readonly script: string;
  /** The purpose of the script in a few sentences, printed at the top of `--help`. */
  readonly description: string;
  /** Options by the camelCase name of their value: `keysPerTable` is `--keys-per-table`. */
  readonly options: O;
  /** Values given by position, in this order; one without a default must be given. */
  readonly positionals?: A;
  /**
   * Names of options of other scripts that a file for `--config` may hold although they have no
   * effect here, so that one file works for all scripts.
   */
  readonly ignoredInFiles?: readonly string[];
  /** Sentences for options of other scripts, by their names: why this script has them not. */
  readonly refused?: Readonly<Record<string, string>> | undefined;
  /** Complete command lines, each with a description of its effect. */
  readonly examples: readonly Example[];
}

export interface Example {
  readonly command: string;
  readonly does: string;
}

export interface CommandContext {
  /**
   * The first ctrl-C aborts it: stop, keep the measurements, clean up. The second exits at once.
   */
  readonly signal: AbortSignal;
  /** The command that repeats this run, quoted for a shell. */
  readonly commandLine: string;
  readonly verbose: boolean;
}

export type ScriptOptions = Readonly<Record<string, Option<unknown>>>;
type ValueOf<S> = S extends Option<infer T> ? T : never;
export type OptionValues<S> = { readonly [K in keyof S]: ValueOf<S[K]> };
/** A positional without a default is required, so its value is never `undefined`. */
type PositionalValues<S> = { readonly [K in keyof S]: Exclude<ValueOf<S[K]>, undefined> };

/**
 * Runs `action` with the options of this process's command line, then exits with the code above.
 */
export async function runCommand<const O extends ScriptOptions, const A extends ScriptOptions = {}>(
  specification: CommandSpecification<O, A>,
  action: (
    options: OptionValues<O> & PositionalValues<A>,
    context: CommandContext,
  ) => Promise<void>,
): Promise<void> {
  const verbose = process.argv.includes('--verbose') || isOn(process.env['PERCOLATOR_DEBUG']);
  const argv = process.argv.slice(2);
  const interrupt = abortOnSignals();
  /** What fails because of an interrupt is no error of its own. */
  const failUnlessInterrupted = (error: unknown): void => {
    if (!interrupt.signal.aborted || isForUser(error)) fail(error, verbose);
    if (verbose) process.stderr.write(`${describe(error, verbose)}\n`);
  };
  process.on('uncaughtException', failUnlessInterrupted);
  process.stdout.on('error', survivePipeClosed);
  process.stderr.on('error', () => {}); // There is no other place to report it.
  try {
    goToCaller(specification.script);
    const options = parseCommandLine(specification, argv);
    if (options === null) return;
    checkSurroundings();
    const commandLine = repeatingCommand(specification.script, argv);
    await action(options, { signal: interrupt.signal, commandLine, verbose });
  } catch (error) {
    failUnlessInterrupted(error);
  } finally {
    interrupt.release();
  }
  if (interrupt.exitCode !== null) process.exit(interrupt.exitCode);
}

function isOn(variable: string | undefined): boolean {
  return variable === '1' || variable === 'true';
}

/** The typed options in `argv`, their paths checked; null if help or version was printed. */
export function parseCommandLine<const O extends ScriptOptions, const A extends ScriptOptions = {}>(
  specification: CommandSpecification<O, A>,
  argv: readonly string[],
): (OptionValues<O> & PositionalValues<A>) | null {
  const command = commandFrom(specification);
  refuseMissingOption(specification, argv);
  const found = textsGiven(command, argv, Object.keys(specification.positionals ?? {}));
  if (found === null) return null;
  const texts = withValuesLeftOut(found, specification);

  const named = Object.entries({ ...specification.options, ...STANDARD_OPTIONS }).map(
    ([key, option]) => ({ key, name: flagOf(key), option }),
  );
  const placed = Object.entries(specification.positionals ?? {}).map(([key, option]) => ({
    key,
    name: `<${key}>`,
    option,
  }));
  const fromFile = textsOfConfig(texts['config'], specification);
  const values = [...named, ...placed].map(({ key, name, option }) => {
    const given = texts[key] ?? fromFile.get(key);
    const value = given === undefined ? option.fallback() : parseOption(name, option, given);
    return { key, name, option, value };
  });
  refuseWithoutEffect(texts, values);
  tellWithoutEffect(texts, fromFile, values);
  for (const { key, name, option, value } of values) {
    const isUsed = texts[key] !== undefined || unmet(option, values) === undefined;
    if (typeof value === 'string' && isUsed) option.check(name, value);
  }
  // The option of the same key made each value, as `Values` requires.
  return Object.fromEntries(values.map(({ key, value }) => [key, value])) as OptionValues<O> &
    PositionalValues<A>;
}

/**
 * Refuses an option of the command line that has no effect with the value of another one. A file
 * may hold such options: `./run.sh tune` writes all settings.
 */
function refuseWithoutEffect(
  given: Readonly<Record<string, string | undefined>>,
  values: readonly Parsed[],
): void {
  for (const { key, name, option } of values) {
    const missing = given[key] === undefined ? undefined : unmet(option, values);
    if (missing === undefined) continue;
    const { other, effective } = missing;
    const needed = effective.map((value) => withValue(other.name, value)).join(' or ');
    throw new UsageError(
      `${name} has an effect only with ${needed}, but ${other.name} is ${String(other.value)}.`,
    );
  }
}

/** Names the settings of the file that no option has, or that another option makes idle. */
function tellWithoutEffect(
  given: Readonly<Record<string, string | undefined>>,
  fromFile: ReadonlyMap<string, string>,
  values: readonly Parsed[],
): void {
  const idle = [...fromFile.keys()].filter((key) => {
    const parsed = values.find((one) => one.key === key);
    if (parsed === undefined) return true;
    return given[key] === undefined && unmet(parsed.option, values) !== undefined;
  });
  if (idle.length === 0) return;
  const names = idle.map((key) => flagOf(key).slice(2)).join(', ');
  process.stderr.write(`Settings in ${given['config']} without effect here: ${names}.\n`);
}

interface Parsed {
  readonly key: string;
  readonly name: string;
  readonly option: Option<unknown>;
  readonly value: unknown;
}

/** The option whose value keeps this one from having an effect, and its values that would not. */
function unmet({ onlyWith = {} }: Option<unknown>, values: readonly Parsed[]) {
  for (const [key, effective] of Object.entries(onlyWith)) {
    const other = values.find((one) => one.key === key);
    if (other !== undefined && !hasOneOf(other.value, effective)) return { other, effective };
  }
  return undefined;
}

/** For a list: whether one of its values is effective, or it is empty, which means a default. */
function hasOneOf(value: unknown, effective: readonly string[]): boolean {
  if (!Array.isArray(value)) return effective.includes(String(value));
  return value.length === 0 || value.some((one) => effective.includes(String(one)));
}

const STANDARD_OPTIONS = {
  config: text({
    description:
      'JSON file with options of this script by their names; the command line takes precedence',
    placeholder: 'file',
  }),
  verbose: flag({ description: 'print the stack of an unexpected error' }),
} as const;

function commandFrom(specification: CommandSpecification<ScriptOptions, ScriptOptions>): Command {
  const command = new Command(commandOf(specification.script))
    .description(specification.description)
    .helpOption('-h, --help', 'print this text')
    .addHelpText('after', examplesText(specification.examples))
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  for (const [key, option] of Object.entries(specification.positionals ?? {})) {
    const required = option.fallback() === undefined;
    command.argument(required ? `<${key}>` : `[${key}]`, helpText(option, specification));
  }
  for (const [key, option] of Object.entries({ ...specification.options, ...STANDARD_OPTIONS })) {
    const value = placeholderOf(option);
    const commanderOption = new CommanderOption(
      flagOf(key) + value,
      helpText(option, specification),
    );
    if (option.repeats === true) commanderOption.argParser(joined);
    command.addOption(commanderOption);
  }
  return command.version(versionText(), '--version', 'print the version');
}

function placeholderOf({ placeholder, valueLeftOut }: Option<unknown>): string {
  if (placeholder === null) return '';
  return valueLeftOut === undefined ? ` <${placeholder}>` : ` [${placeholder}]`;
}

/** No argument of a command line can hold the separator, a NUL character. */
function joined(given: string, before: string | undefined): string {
  return before === undefined ? given : `${before}\0${given}`;
}

/** The text of each given option and positional, by key; null if help or version was printed. */
function textsGiven(
  command: Command,
  argv: readonly string[],
  positionals: readonly string[],
): Readonly<Record<string, string | undefined>> | null {
  refuseMissingValue(command, argv);
  try {
    command.parse(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return null;
    throw new UsageError(`${sentenceOf(error)}; ${command.name()} --help lists the options.`);
  }
  const given = command.options.flatMap((option) => {
    const value = command.opts<Record<string, string | boolean>>()[option.attributeName()];
    // Commander takes --no-x for the opposite of --x, which is then true unless --no-x is given.
    if (option.negate) return value === false ? [[keyOf(option.long), 'true']] : [];
    return value === undefined ? [] : [[keyOf(option.long), String(value)]];
  });
  const placed = positionals.map((key, index) => [key, command.args[index]]);
  return Object.fromEntries([...given, ...placed]) as Record<string, string | undefined>;
}

/** Commander says "true" where the value of an option was left out, as it does of a flag. */
function withValuesLeftOut(
  texts: Readonly<Record<string, string | undefined>>,
  { options }: CommandSpecification<ScriptOptions, ScriptOptions>,
): Readonly<Record<string, string | undefined>> {
  const entries = Object.entries(texts).map(([key, given]) => {
    return [key, given === 'true' ? (options[key]?.valueLeftOut ?? given) : given];
  });
  return Object.fromEntries(entries) as Readonly<Record<string, string | undefined>>;
}

function refuseMissingOption(
  { refused = {} }: CommandSpecification<ScriptOptions, ScriptOptions>,
  argv: readonly string[],
): void {
  const given = argv.filter((word) => word.startsWith('--'));
  const keys = given.map((word) => keyOf(word.replace(/=.*/s, '')));
  const key = keys.find((one) => Object.hasOwn(refused, one));
  if (key !== undefined) throw new UsageError(refused[key] ?? '');
}

/** Commander would take the next option for the value, even a misspelled one. */
function refuseMissingValue(command: Command, argv: readonly string[]): void {
  const isOption = (word = ''): boolean => /^--?[a-z]/i.test(word);
  const needsValue = (word: string): boolean =>
    command.options.some(({ long, required }) => long === word && required);
  const i = argv.findIndex((word, at) => needsValue(word) && isOption(argv[at + 1]));
  if (i < 0) return;
  throw new UsageError(
    `${argv[i]} needs a value, but ${argv[i + 1]} follows it; ${command.name()} --help lists the options.`,
  );
}

/** The texts in the file given with `--config`, if one was, by the keys of their options. */
function textsOfConfig(
  file: string | undefined,
  { options, ignoredInFiles = [] }: CommandSpecification<ScriptOptions, ScriptOptions>,
): ReadonlyMap<string, string> {
  if (file === undefined) return new Map();
  const known = new Map(
    [...ignoredInFiles, ...Object.keys(options)].map((key) => [flagOf(key).slice(2), options[key]]),
  );
  const texts = [...readConfigFile(file, known)];
  return new Map(texts.map(([name, given]) => [keyOf(`--${name}`), given]));
}

/** Commander's message as the start of one sentence, with its suggestion on the same line. */
function sentenceOf(error: CommanderError): string {
  const words = error.message.replace(/^error: /, '').replace(/\.$/, '');
  const line = words.replace(/\s*\n\s*/g, ' ').replaceAll('. ', ': ');
  return line.charAt(0).toUpperCase() + line.slice(1);
}

/** A flag is given without a value; `undefined` stands for an option that must not be given. */
function withValue(name: string, value: string): string {
  if (value === 'undefined') return `no ${name}`;
  return value === 'true' ? name : `${name} ${value}`;
}

function helpText(
  option: Option<unknown>,
  { positionals = {} }: CommandSpecification<ScriptOptions, ScriptOptions>,
): string {
  const nameOf = (key: string): string => (key in positionals ? `<${key}>` : flagOf(key));
  const conditions = Object.entries(option.onlyWith ?? {}).map(
    ([other, effective]) => `with ${withValue(nameOf(other), effective.join(' or '))}`,
  );
  const facts = [
    conditions.length === 0 ? null : `only ${conditions.join(' and ')}`,
    option.placeholder === null ? null : option.expected,
    option.defaultText === null ? null : `default: ${option.defaultText}`,
  ].filter((fact) => fact !== null);
  return facts.length === 0 ? option.description : `${option.description} (${facts.join('; ')})`;
}

function examplesText(examples: readonly { command: string; does: string }[]): string {
  const lines = examples.map(({ command, does }) => `  ${command}\n      ${does}`);
  return lines.length === 0 ? '' : `\nExamples:\n${lines.join('\n')}`;
}

/** --keys-per-table → keysPerTable */
function keyOf(flagName: string | undefined): string {
  return (flagName ?? '')
    .slice(2)
    .replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** keysPerTable → --keys-per-table */
export function flagOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Does not wait for open handles: an error may have left a store or a child process open. */
function fail(error: unknown, verbose: boolean): never {
  process.stderr.write(`${describe(error, verbose)}\n`);
  process.exit(isForUser(error) ? 2 : 1);
}

function isForUser(error: unknown): boolean {
  return firstErrorOf(error) instanceof UsageError;
}

function describe(error: unknown, verbose: boolean): string {
  if (error instanceof SuppressedError) {
    const first = describe(error.suppressed, verbose);
    return verbose
      ? `${first}\nThen the clean-up failed: ${describe(error.error, verbose)}`
      : first;
  }
  if (!(error instanceof Error)) return String(error);
  if (verbose) return error.stack ?? error.message;
  const parts = error.message.split(/([\n\t])/); // These stay as they are.
  const message = parts.map((part, i) => (i % 2 === 1 ? part : printable(part))).join('');
  return error instanceof UsageError ? message : `Error: ${message}`;
}

/**
 * `| head` closes the output early; that must not end an hour-long run before its record is
 * written.
 */
function survivePipeClosed(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  throw new Error(`standard output cannot be written: ${error.message}`, { cause: error });
}
