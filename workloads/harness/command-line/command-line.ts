/**
 * The user interface of every script in this project: `--help`, options, exit codes, ctrl-C.
 *
 *   1. Parse the options (commander), those of a file (config-file.ts), and each value
 *      (options.ts).
 *   2. Check the paths: may the output folder be written, can the input files be read?
 *   3. Only then run the action.
 *
 * So a mistake on the command line is reported at once, before anything is written. Exit codes: 0
 * done; 1 an error of this program or of the machine, its stack only with `--verbose` or
 * PERCOLATOR_DEBUG; 2 a `UsageError`, one sentence; 130 or 143 interrupted by a signal.
 *
 * This file knows nothing about any experiment, and does not retry, log or measure.
 */
import path from 'node:path';
import { Command, CommanderError, Option as CommanderOption } from 'commander';
import { readConfigFile } from './config-file.ts';
import { flag, parseOption, text, type Option } from './options.ts';
import { UsageError } from '#results';

export interface CommandSpecification<O extends Options, A extends Options> {
  /** The command the user types: `npm run bench:crawl-rate --`. */
  readonly name: string;
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
  /** Complete command lines, each with a description of its effect. */
  readonly examples: readonly { readonly command: string; readonly does: string }[];
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

type Options = Readonly<Record<string, Option<unknown>>>;
type ValueOf<S> = S extends Option<infer T> ? T : never;
type Values<S> = { readonly [K in keyof S]: ValueOf<S[K]> };
/** A positional without a default is required, so its value is never `undefined`. */
type PositionalValues<S> = { readonly [K in keyof S]: Exclude<ValueOf<S[K]>, undefined> };

/**
 * Runs `action` with the options of this process's command line, then exits with the code above.
 */
export async function runCommand<const O extends Options, const A extends Options = {}>(
  specification: CommandSpecification<O, A>,
  action: (options: Values<O> & PositionalValues<A>, context: CommandContext) => Promise<void>,
): Promise<void> {
  const verbose = process.argv.includes('--verbose') || Boolean(process.env['PERCOLATOR_DEBUG']);
  process.on('uncaughtException', (error) => fail(error, verbose));
  process.stdout.on('error', survivePipeClosed);
  const interrupt = abortOnSignals();
  try {
    const options = parseCommandLine(specification, process.argv.slice(2));
    if (options === null) return;
    const context = { signal: interrupt.signal, commandLine: commandLineOfThisProcess(), verbose };
    await action(options, context);
  } catch (error) {
    if (!interrupt.signal.aborted || error instanceof UsageError) fail(error, verbose);
    if (verbose) process.stderr.write(`${describe(error, verbose)}\n`);
  } finally {
    interrupt.release();
  }
  if (interrupt.exitCode !== null) process.exit(interrupt.exitCode);
}

/** The typed options in `argv`, their paths checked; null if `--help` was printed instead. */
export function parseCommandLine<const O extends Options, const A extends Options = {}>(
  specification: CommandSpecification<O, A>,
  argv: readonly string[],
): (Values<O> & PositionalValues<A>) | null {
  const command = commandFrom(specification);
  const texts = textsGiven(command, argv, Object.keys(specification.positionals ?? {}));
  if (texts === null) return null;

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
  for (const { name, option, value } of values) {
    if (typeof value === 'string') option.check(name, value);
  }
  // The option of the same key made each value, as `Values` requires.
  return Object.fromEntries(values.map(({ key, value }) => [key, value])) as Values<O> &
    PositionalValues<A>;
}

const STANDARD_OPTIONS = {
  config: text({
    description:
      'JSON file with options of this script by their names; the command line takes precedence',
    placeholder: 'file',
  }),
  verbose: flag({ description: 'print the stack of an unexpected error' }),
} as const;

function commandFrom(specification: CommandSpecification<Options, Options>): Command {
  const command = new Command(specification.name)
    .description(specification.description)
    .helpOption('--help', 'print this text')
    .addHelpText('after', examplesText(specification.examples))
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  for (const [key, option] of Object.entries(specification.positionals ?? {})) {
    const required = option.fallback() === undefined;
    command.argument(required ? `<${key}>` : `[${key}]`, helpText(option));
  }
  for (const [key, option] of Object.entries({ ...specification.options, ...STANDARD_OPTIONS })) {
    const value = option.placeholder === null ? '' : ` <${option.placeholder}>`;
    const commanderOption = new CommanderOption(flagOf(key) + value, helpText(option));
    if (option.repeats === true) commanderOption.argParser(joined);
    command.addOption(commanderOption);
  }
  return command;
}

/** No argument of a command line can hold the separator, a NUL character. */
function joined(given: string, before: string | undefined): string {
  return before === undefined ? given : `${before}\0${given}`;
}

/** The text of each option and positional that was given, by key; null if help was printed. */
function textsGiven(
  command: Command,
  argv: readonly string[],
  positionals: readonly string[],
): Readonly<Record<string, string | undefined>> | null {
  try {
    command.parse(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return null;
    throw new UsageError(`${sentenceOf(error)}; ${command.name()} --help lists the options.`);
  }
  const given = Object.entries(command.opts()).map(([key, value]) => [key, String(value)]);
  const placed = positionals.map((key, index) => [key, command.args[index]]);
  return Object.fromEntries([...given, ...placed]) as Record<string, string | undefined>;
}

/** The texts in the file given with `--config`, if one was, by the keys of their options. */
function textsOfConfig(
  file: string | undefined,
  { options, ignoredInFiles = [] }: CommandSpecification<Options, Options>,
): ReadonlyMap<string, string> {
  if (file === undefined) return new Map();
  const keyOf = new Map(
    [...ignoredInFiles, ...Object.keys(options)].map((key) => [flagOf(key).slice(2), key]),
  );
  const known = new Map([...keyOf].map(([name, key]) => [name, options[key]]));
  const texts = [...readConfigFile(file, known)];
  const ofKey = new Map(texts.map(([name, value]) => [keyOf.get(name) ?? name, value]));
  const isIgnored = (name: string): boolean => !Object.hasOwn(options, keyOf.get(name) ?? name);
  const ignored = texts.map(([name]) => name).filter(isIgnored);
  if (ignored.length > 0) {
    process.stderr.write(`Settings in ${file} without effect here: ${ignored.join(', ')}.\n`);
  }
  return ofKey;
}

/** Commander's message as the start of one sentence, with its suggestion on the same line. */
function sentenceOf(error: CommanderError): string {
  const words = error.message.replace(/^error: /, '').replace(/\.$/, '');
  const line = words.replace(/\s*\n\s*/g, ' ').replaceAll('. ', ': ');
  return line.charAt(0).toUpperCase() + line.slice(1);
}

function helpText(option: Option<unknown>): string {
  const facts = [
    option.placeholder === null ? null : option.expected,
    option.defaultText === null ? null : `default: ${option.defaultText}`,
  ].filter((fact) => fact !== null);
  return facts.length === 0 ? option.description : `${option.description} (${facts.join('; ')})`;
}

function examplesText(examples: readonly { command: string; does: string }[]): string {
  const lines = examples.map(({ command, does }) => `  ${command}\n      ${does}`);
  return lines.length === 0 ? '' : `\nExamples:\n${lines.join('\n')}`;
}

/** keysPerTable → --keys-per-table, the inverse of what commander does. */
function flagOf(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function commandLineOfThisProcess(): string {
  const script = path.relative(process.cwd(), process.argv[1] ?? '');
  return ['node', script, ...process.argv.slice(2)].map(quoteForShell).join(' ');
}

function quoteForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

interface Interrupt {
  readonly signal: AbortSignal;
  /** Set by the first signal, to the code a shell expects after it: 128 + the signal's number. */
  readonly exitCode: number | null;
  release(): void;
}

function abortOnSignals(): Interrupt {
  const controller = new AbortController();
  let exitCode: number | null = null;
  const interrupted = (code: number): void => {
    if (exitCode !== null) process.exit(code);
    exitCode = code;
    process.stderr.write(
      '\nInterrupted; keeping what was measured (press again to stop at once).\n',
    );
    controller.abort(new Error('interrupted'));
  };
  const onInterrupt = (): void => interrupted(130);
  const onTerminate = (): void => interrupted(143);
  process.on('SIGINT', onInterrupt).on('SIGTERM', onTerminate);
  return {
    signal: controller.signal,
    get exitCode(): number | null {
      return exitCode;
    },
    release: () => process.off('SIGINT', onInterrupt).off('SIGTERM', onTerminate),
  };
}

/** Does not wait for open handles: an error may have left a store or a child process open. */
function fail(error: unknown, verbose: boolean): never {
  process.stderr.write(`${describe(error, verbose)}\n`);
  process.exit(error instanceof UsageError ? 2 : 1);
}

function describe(error: unknown, verbose: boolean): string {
  if (!(error instanceof Error)) return String(error);
  if (verbose) return error.stack ?? error.message;
  return error instanceof UsageError ? error.message : `Error: ${error.message}`;
}

/**
 * `| head` closes the output early; that must not end an hour-long run before its record is
 * written.
 */
function survivePipeClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
