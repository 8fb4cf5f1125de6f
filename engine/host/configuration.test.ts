/**
 * Configurations: which are refused, in which sentence, and that percolator.schema.json and the
 * program agree on all of them. Command lines with mistakes, likewise.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { PercolatorError } from '../base/index.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { parseCommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import {
  type Configuration,
  type ConfigurationFile,
  readConfiguration,
  SETTINGS,
} from './configuration.ts';

const SCHEMA = new URL('percolator.schema.json', import.meta.url);
const schema = JSON.parse(readFileSync(SCHEMA, 'utf8')) as Record<string, unknown>;
const isOfSchema = new Ajv2020({ strict: true, allErrors: true }).compile(schema);
const folder = temporaryFolder();

function read(
  config: unknown,
  options: Record<string, string | boolean> = {},
  environment: Record<string, string> = {},
): Configuration {
  const content = config as ConfigurationFile | string | undefined;
  return readConfiguration({ config: content, options, environment, folder });
}

function refusal(config: unknown): string {
  try {
    read(config);
  } catch (error) {
    assert.ok(error instanceof PercolatorError && error.code === 'INVALID_ARGUMENT');
    return error.message;
  }
  return '';
}

const GOOD: readonly ConfigurationFile[] = [
  {},
  { store: 'data' },
  { store: './data with spaces/x' },
  { store: 'emulator://127.0.0.1:8086' },
  { store: 'hbase://a:16000,b:16000' },
  { store: 'bigtable://project/instance?appProfile=x' },
  {
    $schema: './percolator.schema.json',
    store: 'hbases://[::1]:16000?namespace=n',
    oracles: ['a:7451', '[::1]:7451'],
    lockServices: ['a:7452'],
    tls: { authority: 'a', certificate: 'c', key: 'k' },
    insecure: false,
    metrics: 'off',
    log: { level: 'debug', form: 'json' },
  },
  { metrics: '127.0.0.1:7453', log: {}, oracles: [], tls: {} },
];

const WRONG: readonly (readonly [config: unknown, sentence: string])[] = [
  [{ store: '' }, "store in the configuration must be a text that is not empty, not ''"],
  [{ store: 5 }, 'store in the configuration must be a text that is not empty, not 5'],
  [
    { store: 'hbse://a:1' },
    'store in the configuration must be hbase[s]://host:port,..., bigtable://project/instance, emulator://host:port or a folder, not "hbse://a:1"',
  ],
  [
    { oracles: 'a:1' },
    "oracles in the configuration must be a list of different addresses like host:port, not 'a:1'",
  ],
  [
    { oracles: ['a'] },
    "oracles in the configuration must be a list of different addresses like host:port, not [ 'a' ]",
  ],
  [
    { lockServices: ['a:1', 'a:1'] },
    "lockServices in the configuration must be a list of different addresses like host:port, not [ 'a:1', 'a:1' ]",
  ],
  [{ tls: 'yes' }, 'tls in the configuration must be an object, not "yes"'],
  [
    { tls: { certificat: 'c' } },
    'the configuration has an unknown setting, tls.certificat; there are tls.authority, tls.certificate, tls.key',
  ],
  [{ insecure: 'yes' }, "insecure in the configuration must be true or false, not 'yes'"],
  [
    { metrics: 'on' },
    "metrics in the configuration must be an address like host:port, or off, not 'on'",
  ],
  [
    { log: { level: 'loud' } },
    "log.level in the configuration must be debug or info or warn or error, not 'loud'",
  ],
  [{ log: { form: 'xml' } }, "log.form in the configuration must be text or json, not 'xml'"],
  [
    { orcles: [] },
    'the configuration has an unknown setting, orcles; there are store, oracles, lockServices, tls, insecure, metrics, log',
  ],
];

describe('the program and the published schema agree', () => {
  for (const config of GOOD) {
    test(`that this is right: ${JSON.stringify(config)}`, () => {
      assert.equal(refusal(config), '');
      assert.ok(isOfSchema(config), JSON.stringify(isOfSchema.errors));
    });
  }

  for (const [config, sentence] of WRONG) {
    test(`that this is wrong: ${JSON.stringify(config)}`, () => {
      assert.equal(refusal(config), sentence);
      assert.equal(isOfSchema(config), false);
    });
  }

  test('on the names of all settings', () => {
    const { properties } = schema as { properties: Record<string, { properties?: object }> };
    const names = Object.entries(properties).flatMap(([name, { properties: inner }]) =>
      inner === undefined ? [name] : Object.keys(inner).map((one) => `${name}.${one}`),
    );
    const own = SETTINGS.map(({ name }) => name);
    assert.deepEqual(names.toSorted(), ['$schema', ...own].toSorted());
  });
});

describe('beyond what a schema can say', () => {
  test('two of the three certificates are refused, with the name of the third', () => {
    assert.equal(
      refusal({ tls: { authority: 'a', key: 'k' } }),
      'tls needs authority, certificate and key, but tls.certificate is missing: give --tls-certificate, PERCOLATOR_TLS_CERTIFICATE or the setting',
    );
  });

  for (const store of ['hbase://a', 'bigtable://project', 'hbase://a:0']) {
    test(`the store ${store} has a form that is nearly right`, () => {
      assert.match(refusal({ store }), /^store in the configuration must be hbase\[s\]:/);
    });
  }

  test('a port of an emulator is checked', () => {
    assert.equal(
      refusal({ store: 'emulator://a:99999' }),
      "the address in store in the configuration must be a text like host:port, not 'a:99999'",
    );
  });
});

describe('a file', () => {
  const file = path.join(folder, 'percolator.json');

  test('that is missing is no mistake unless it is named', () => {
    assert.equal(read(undefined).store, undefined);
    assert.equal(refusal('nowhere.json'), 'the configuration nowhere.json does not exist');
    assert.equal(refusal('.'), 'the configuration . is a folder, not a file');
  });

  test('is read from the working folder, and its paths count from its own', () => {
    writeFileSync(file, '{ "store": "data", "log": { "level": "warn" } }');
    assert.deepEqual(read(undefined).store, {
      kind: 'embedded',
      folder: path.join(folder, 'data'),
    });
    const elsewhere = readConfiguration({
      config: file,
      options: {},
      environment: {},
      folder: path.dirname(folder),
    });
    assert.deepEqual(elsewhere.store, { kind: 'embedded', folder: path.join(folder, 'data') });
  });

  test('gives way to environment variables, and these to options', () => {
    const variables = { PERCOLATOR_STORE: 'of the variable', PERCOLATOR_LOG_LEVEL: 'error' };
    const { store, log } = read(undefined, { store: 'of the option' }, variables);
    assert.deepEqual(store, { kind: 'embedded', folder: path.join(folder, 'of the option') });
    assert.equal(log.level, 'error');
    assert.deepEqual(read(undefined, { oracles: 'a:1, b:2' }).oracles, ['a:1', 'b:2']);
  });

  test('is not to blame for a wrong variable or option', () => {
    assert.throws(() => read(undefined, {}, { PERCOLATOR_LOG_FORM: 'xml' }), {
      message: "PERCOLATOR_LOG_FORM must be text or json, not 'xml'",
    });
    assert.throws(() => read(undefined, { 'log-form': 'xml' }), {
      message: "--log-form must be text or json, not 'xml'",
    });
  });

  test('must be JSON, and hold an object', () => {
    writeFileSync(file, '{ "store": ');
    assert.match(refusal(undefined), /^the configuration percolator\.json is not JSON: \S.*$/);
    writeFileSync(file, '[]');
    assert.equal(refusal(undefined), 'the configuration percolator.json must hold an object');
  });
});

describe('a command line with a mistake gets one sentence:', () => {
  const MISTAKES: readonly (readonly [line: string, sentence: string])[] = [
    [
      'worker --observer x',
      'percolator worker has no option --observer; the nearest is --observers',
    ],
    ['worker -o x', 'percolator worker has no option -o'],
    [
      'tables create t --shared a,,b',
      "--shared must be names with commas between them, none of them empty, not [ 'a', '', 'b' ]",
    ],
    [
      'tables create t --shared=',
      "--shared must be names with commas between them, none of them empty, not [ '' ]",
    ],
    ['worker --observers', '--observers needs a value: --observers <file>'],
    ['worker --observers --json', '--observers needs a value: --observers <file>'],
    ['worker --concurrency 0', '--concurrency must be a whole number of at least 1, not 0'],
    ['worker --concurrency many', "--concurrency must be a whole number of at least 1, not 'many'"],
    ['oracle here', 'percolator oracle takes no words, but "here" was given'],
    ['oracle --listen 7451', "--listen must be a text like host:port, not '7451'"],
    ['get t r', 'percolator get needs COLUMN: percolator get TABLE ROW COLUMN'],
    ['status --json=yes', '--json takes no value, but yes was given'],
    ['wait --for peace', "--for must be ready or idle, not 'peace'"],
    ['locks --insecure --insecure', '--insecure was given 2 times'],
  ];
  for (const [line, sentence] of MISTAKES) {
    test(line, () => {
      const [name, ...words] = line.split(' ');
      const command = COMMANDS.find((one) => one.name === name);
      assert.ok(command !== undefined);
      assert.throws(() => parseCommandLine(command, words), {
        code: 'INVALID_ARGUMENT',
        message: sentence,
      });
    });
  }
});

describe('an option of another action of percolator tables is refused:', () => {
  for (const [line, sentence] of [
    ['list --shared c', '--shared is for percolator tables create, not list'],
    ['drop t --observed c --yes', '--observed is for percolator tables create, not drop'],
    ['create t --yes', '--yes is for percolator tables drop, not create'],
    ['--splits r', '--splits is for percolator tables create, not list'],
  ] as const) {
    test(line, async () => {
      const command = COMMANDS.find(({ name }) => name === 'tables');
      const given = command && parseCommandLine(command, line.split(' '));
      assert.ok(given !== undefined && given !== 'help');
      const run = async (): Promise<unknown> => command?.run(given);
      await assert.rejects(run, { code: 'INVALID_ARGUMENT', message: sentence });
    });
  }
});

test('an empty option is refused, and an empty variable counts as not set', () => {
  const file = { store: 'production' };
  assert.throws(
    () => read(file, { store: '' }),
    /--store must be a text that is not empty, not ''/,
  );
  assert.deepEqual(read(file, {}, { PERCOLATOR_STORE: '' }).store, read(file).store);
});
