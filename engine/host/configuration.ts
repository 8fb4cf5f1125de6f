/**
 * The configuration of a database's processes: one file, the same on every host.
 *
 *     options ─┐
 *     environment variables ─┼─▶ values by setting, each with its origin ─▶ checked whole ─▶ used
 *     percolator.json ─┘
 *
 * An option comes before an environment variable, and that before the file. Every setting may come
 * from each of the three, because which of them differ between hosts is for the operator to say.
 * The sentence for a wrong value names where the value came from.
 *
 * Paths in the file count from its folder, other paths from the working folder.
 * percolator.schema.json says the same as this file, for editors; a test compares the two.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PercolatorError } from '../base/index.ts';
import { ADDRESS, check, FLAG, isObject, NAME, oneOf, type OptionRule } from '../base/options.ts';
import { parseStoreName, type StoreAddress } from '../bigtable/open-store.ts';

/** The settings of one process, checked. */
export interface Configuration {
  /** Undefined if none was given, which only the lock service can do without. */
  readonly store: StoreAddress | undefined;
  /** `host:port` of each oracle; none: timestamps are allocated from the store itself. */
  readonly oracles: readonly string[];
  /** `host:port` of each lock service; none: only this machine knows which processes are dead. */
  readonly lockServices: readonly string[];
  /** Paths. Undefined: no TLS. */
  readonly tls: TlsFiles | undefined;
  /** Whether to speak plaintext with other machines. */
  readonly insecure: boolean;
  /** `host:port` of health and metrics; undefined: off. */
  readonly metrics: string | undefined;
  readonly log: LogSettings;
}

export interface TlsFiles {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

export interface LogSettings {
  readonly level: LogLevel;
  /** One JSON object per line, or a line for people. */
  readonly form: 'json' | 'text';
}

export type LogLevel = (typeof LEVELS)[number];

/** From all lines to few. */
export const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** What the file, or `connectPercolator`, may give. */
export interface ConfigurationFile {
  /** For editors: where percolator.schema.json is. */
  readonly $schema?: string | undefined;
  /**
   * Where the data is: `bigtable://project/instance`, `hbase://host:port`, `emulator://host:port`,
   * or the path of a folder.
   */
  readonly store?: string | undefined;
  readonly oracles?: readonly string[] | undefined;
  readonly lockServices?: readonly string[] | undefined;
  readonly tls?: Partial<TlsFiles> | undefined;
  readonly insecure?: boolean | undefined;
  readonly metrics?: string | undefined;
  readonly log?: Partial<LogSettings> | undefined;
}

interface Setting {
  /** Its place in the file: `tls.key`. */
  readonly name: string;
  readonly rule: OptionRule;
  readonly description: string;
  readonly placeholder: string;
  readonly kind: 'text' | 'list' | 'flag' | 'path';
}

const ADDRESSES: OptionRule = {
  expected: 'a list of different addresses like host:port',
  accepts: (value) =>
    Array.isArray(value) && value.every(ADDRESS.accepts) && new Set(value).size === value.length,
};
const METRICS: OptionRule = {
  expected: 'an address like host:port, or off',
  accepts: (value) => value === 'off' || ADDRESS.accepts(value),
};

export const SETTINGS: readonly Setting[] = [
  {
    name: 'store',
    rule: NAME,
    kind: 'text',
    placeholder: 'address',
    description:
      'where the data is: hbase://host:port, bigtable://project/instance, emulator://host:port, or a folder',
  },
  {
    name: 'oracles',
    rule: ADDRESSES,
    kind: 'list',
    placeholder: 'host:port,...',
    description: 'all oracles of the database; none: timestamps come from the store itself',
  },
  {
    name: 'lockServices',
    rule: ADDRESSES,
    kind: 'list',
    placeholder: 'host:port,...',
    description: 'all lock services; none: dead processes of other hosts are noticed later',
  },
  {
    name: 'tls.authority',
    rule: NAME,
    kind: 'path',
    placeholder: 'file',
    description: 'certificates of the authorities that are trusted (PEM)',
  },
  {
    name: 'tls.certificate',
    rule: NAME,
    kind: 'path',
    placeholder: 'file',
    description: "this process's certificate (PEM)",
  },
  {
    name: 'tls.key',
    rule: NAME,
    kind: 'path',
    placeholder: 'file',
    description: 'its private key (PEM)',
  },
  {
    name: 'insecure',
    rule: FLAG,
    kind: 'flag',
    placeholder: '',
    description: 'speaks plaintext with other hosts: only in a network that is closed to others',
  },
  {
    name: 'metrics',
    rule: METRICS,
    kind: 'text',
    placeholder: 'host:port',
    description: 'address of health and metrics, or off (default off)',
  },
  {
    name: 'log.level',
    rule: oneOf(...LEVELS),
    kind: 'text',
    placeholder: 'level',
    description: 'the least that is logged: debug, info, warn or error (default info)',
  },
  {
    name: 'log.form',
    rule: oneOf('text', 'json'),
    kind: 'text',
    placeholder: 'form',
    description: 'text for people, or json (default text)',
  },
];

/** `tls.key` as an option: `tls-key`. */
export function optionOf(setting: string): string {
  return setting.replaceAll('.', '-').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `tls.key` as an environment variable: `PERCOLATOR_TLS_KEY`. */
export function variableOf(setting: string): string {
  return `PERCOLATOR_${optionOf(setting).replaceAll('-', '_').toUpperCase()}`;
}

/** What is read when no file is named, if it is there. */
const FILE = 'percolator.json';
const FILE_VARIABLE = 'PERCOLATOR_CONFIG';
const BYTES_MAX = 1_000_000;

export interface ConfigurationSources {
  /** The path of the file, or its content. Default: `PERCOLATOR_CONFIG`, or percolator.json. */
  readonly config?: string | ConfigurationFile | undefined;
  /** Texts of the options given, by their names. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The working folder. */
  readonly folder: string;
}

/** A value, and where it came from, in words that a sentence can begin with. */
interface Value {
  readonly value: unknown;
  readonly origin: string;
  /** The folder that a path counts from. */
  readonly folder: string;
}

/** @throws INVALID_ARGUMENT: one sentence that names the setting, the value, and what is right */
export function readConfiguration(sources: ConfigurationSources): Configuration {
  const { options, environment, folder } = sources;
  const values = new Map(fileValues(sources));
  for (const { name, kind } of SETTINGS) {
    const [option, variable] = [optionOf(name), variableOf(name)];
    const origins = [
      [`--${option}`, options[option]],
      [variable, environment[variable]],
    ] as const;
    // An empty variable of the environment counts as not set; an empty option is a mistake, such as
    // an unset variable of a shell, and must not lead to the store of the file.
    const isGiven = ([where, given]: (typeof origins)[number]): boolean =>
      given !== undefined && (given !== '' || where !== variable);
    const [origin, text] = origins.find(isGiven) ?? [];
    if (origin === undefined) continue;
    values.set(name, { value: parsed(kind, text), origin, folder });
  }
  for (const { name, rule } of SETTINGS) {
    const given = values.get(name);
    if (given !== undefined) check(given.origin, given.value, rule);
  }
  return configurationOf(values);
}

function parsed(kind: Setting['kind'], text: string | boolean | undefined): unknown {
  if (typeof text !== 'string') return text;
  if (kind === 'flag') return text === 'true' ? true : text === 'false' ? false : text;
  return kind === 'list' ? text.split(',').map((one) => one.trim()) : text;
}

function configurationOf(values: ReadonlyMap<string, Value>): Configuration {
  const valueOf = (name: string): unknown => values.get(name)?.value; // Checked before.
  const store = values.get('store');
  const metrics = valueOf('metrics') as string | undefined;
  return {
    store: store && storeAddress(store),
    oracles: (valueOf('oracles') as string[] | undefined) ?? [],
    lockServices: (valueOf('lockServices') as string[] | undefined) ?? [],
    tls: tlsFiles(values),
    insecure: valueOf('insecure') === true,
    metrics: metrics === 'off' ? undefined : metrics,
    log: {
      level: (valueOf('log.level') as LogLevel | undefined) ?? 'info',
      form: valueOf('log.form') === 'json' ? 'json' : 'text',
    },
  };
}

/** All three files or none: two would be TLS that does not work. */
function tlsFiles(values: ReadonlyMap<string, Value>): TlsFiles | undefined {
  const names = ['authority', 'certificate', 'key'] as const;
  const given = names.filter((name) => values.has(`tls.${name}`));
  if (given.length === 0) return undefined;
  const missing = names.find((name) => !values.has(`tls.${name}`));
  if (missing !== undefined) {
    throw wrong(
      `tls needs authority, certificate and key, but tls.${missing} is missing: give --tls-${missing}, ${variableOf(`tls.${missing}`)} or the setting`,
    );
  }
  const absolute = (name: string): string => {
    const { value = '', folder = '' } = values.get(`tls.${name}`) ?? {};
    return path.resolve(folder, String(value));
  };
  return {
    authority: absolute('authority'),
    certificate: absolute('certificate'),
    key: absolute('key'),
  };
}

function storeAddress({ value, origin, folder }: Value): StoreAddress {
  const text = String(value);
  const [, emulator] = /^emulator:\/\/(.+)$/.exec(text) ?? [];
  if (emulator !== undefined) {
    check(`the address in ${origin}`, emulator, ADDRESS);
    return { kind: 'emulator', address: emulator };
  }
  if (!/^[\w+.-]+:\/\//.test(text)) return { kind: 'embedded', folder: path.resolve(folder, text) };
  const named = /^(?:hbases?|bigtable):/i.test(text) ? parseNamed(text) : undefined;
  if (typeof named === 'object') return named;
  throw wrong(
    `${origin} must be hbase[s]://host:port,..., bigtable://project/instance, emulator://host:port or a folder, not ${JSON.stringify(text)}`,
  );
}

function parseNamed(text: string): ReturnType<typeof parseStoreName> | undefined {
  try {
    return parseStoreName(text);
  } catch (error) {
    if (error instanceof PercolatorError) return undefined;
    throw error;
  }
}

/** The values of the file, by setting. */
function fileValues(sources: ConfigurationSources): readonly (readonly [string, Value])[] {
  const { config = sources.environment[FILE_VARIABLE], folder } = sources;
  if (isObject(config)) return valuesIn(config, 'the configuration', folder);
  if (config !== undefined && typeof config !== 'string') {
    throw wrong(`config must be a path or an object, not ${String(config)}`);
  }
  const named = config === undefined || config === '' ? undefined : config;
  const file = path.resolve(folder, named ?? FILE);
  const text = readText(file, named);
  if (text === undefined) return [];
  return valuesIn(parseFile(text, named ?? FILE), named ?? FILE, path.dirname(file));
}

/** Undefined if there is no file, and none was named. */
function readText(file: string, named: string | undefined): string | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    if (text.length > BYTES_MAX) throw wrong(`the configuration ${file} is larger than 1 MB`);
    return text.replace(/^\uFEFF/, ''); // A byte-order mark, as Windows writes.
  } catch (error) {
    if (error instanceof PercolatorError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && named === undefined) return undefined;
    throw wrong(`the configuration ${named ?? FILE} ${whyUnreadable(code)}`, error);
  }
}

/** In words that follow the name of a file. */
export function whyUnreadable(code: string | undefined): string {
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return 'cannot be read: this user may not';
  return code === 'EISDIR' ? 'is a folder, not a file' : `cannot be read (${code ?? 'unknown'})`;
}

function parseFile(text: string, name: string): object {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.replaceAll(/\s+/g, ' ') : '';
    throw wrong(`the configuration ${name} is not JSON: ${why}`, cause);
  }
  if (!isObject(content)) throw wrong(`the configuration ${name} must hold an object`);
  return content;
}

function valuesIn(
  content: object,
  where: string,
  folder: string,
): readonly (readonly [string, Value])[] {
  return Object.entries(content).flatMap(([key, value]) => {
    if (key === '$schema' || value === undefined) return [];
    if (SETTINGS.some(({ name }) => name === key)) return [valueOf(key, value)];
    const inner = SETTINGS.filter(({ name }) => name.startsWith(`${key}.`));
    if (inner.length === 0) throw unknown(where, key, topLevel());
    if (!isObject(value)) {
      throw wrong(`${key} in ${where} must be an object, not ${JSON.stringify(value)}`);
    }
    return Object.entries(value).flatMap(([part, one]: [string, unknown]) => {
      const name = `${key}.${part}`;
      if (!inner.some((setting) => setting.name === name)) {
        throw unknown(
          where,
          name,
          inner.map((setting) => setting.name),
        );
      }
      return one === undefined ? [] : [valueOf(name, one)];
    });
  });

  function valueOf(name: string, value: unknown): readonly [string, Value] {
    return [name, { value, origin: `${name} in ${where}`, folder }];
  }
}

function topLevel(): readonly string[] {
  return [...new Set(SETTINGS.map(({ name }) => name.replace(/\..*/, '')))];
}

function unknown(where: string, name: string, known: readonly string[]): PercolatorError {
  return wrong(`${where} has an unknown setting, ${name}; there are ${known.join(', ')}`);
}

/** A mistake of the caller, in one sentence. */
export function wrong(sentence: string, cause?: unknown): PercolatorError {
  return new PercolatorError('INVALID_ARGUMENT', sentence, { cause });
}
