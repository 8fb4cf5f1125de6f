/**
 * Files for `--config` and paths that no author of a script expects: some are accepted, and the
 * others are refused in one sentence.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, ftruncateSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { UsageError } from '#results';
import { temporaryFolder } from '#engine/testing';
import { readConfigFile } from './config-file.ts';
import {
  flag,
  inputFile,
  integer,
  numberList,
  outputFolder,
  text,
  textList,
  parseOption,
} from './options.ts';

const KNOWN = new Map(
  Object.entries({
    documents: integer({ description: '', min: 1, max: 1000 }),
    rates: numberList({ description: '', min: 1, max: 1000 }),
    name: text({ description: '' }),
    workloads: text({ description: '', placeholder: 'name,...' }),
    table: textList({ description: '', placeholder: 'name' }),
    fast: flag({ description: '' }),
  }),
);

describe('a file for --config', () => {
  const right: readonly (readonly [string, string, Record<string, string>])[] = [
    ['begins with a byte-order mark', '\uFEFF{"documents": 7}', { documents: '7' }],
    ['says no to a flag', '{"fast": false}', {}],
    ['says yes to a flag', '{"fast": true}', { fast: 'true' }],
    ['holds a list of texts', '{"table": ["a", "b,c"]}', { table: 'a\0b,c' }],
    ['holds a list of numbers', '{"rates": [1, 2.5]}', { rates: '1,2.5' }],
    ['holds a list for a text of names', '{"workloads": ["a", "b"]}', { workloads: 'a,b' }],
    [
      'names an option again inside a setting of other scripts',
      '{"batch-rows": {"documents": 1}, "documents": 2}',
      { 'batch-rows': '', documents: '2' },
    ],
    ['holds a setting of other scripts', '{"batch-rows": {}}', { 'batch-rows': '' }],
  ];
  for (const [how, content, texts] of right) {
    test(`that ${how} is read`, () => {
      assert.deepEqual(Object.fromEntries(readFrom(content)), texts);
    });
  }

  const wrong: readonly (readonly [string, RegExp])[] = [
    ['', /is not JSON\.$/],
    ['\0\0\0', /is not JSON\.$/],
    ['null', /does not hold an object\.$/],
    ['"documents"', /does not hold an object\.$/],
    ['{"documents": 1, "documents": 2}', /names documents twice\.$/],
    ['{"documents": 1, "docu\\u006dents": 2}', /names documents twice\.$/],
    ['{"__proto__": {"documents": 1}}', /there is no --__proto__\.$/],
    ['{"verbose": true}', /but --verbose cannot be given in a file\.$/],
    ['{"config": "a.json"}', /but --config cannot be given in a file\.$/],
    ['{"constructor": 1}', /there is no --constructor\.$/],
    ['{"documents": true}', /documents must be a whole number from 1 to 1000, but is true\.$/],
    ['{"documents": false}', /documents must be a whole number .*, but is false\.$/],
    ['{"documents": null}', /documents must be .*, but is null\.$/],
    ['{"documents": {"fast": true}}', /documents must be .*, but is \{"fast":true\}\.$/],
    ['{"rates": [[1, 2], 3]}', /rates must be .*, but is \[\[1,2\],3\]\.$/],
    ['{"documents": [7]}', /documents must be a whole number .*, but is \[7\]\.$/],
    ['{"name": ["a","b"]}', /name must be .*, but is \["a","b"\]\.$/],
    ['{"rates": [true]}', /rates must be .*, but is \[true\]\.$/],
    ['{"fast": "no"}', /fast must be true or false, but is "no"\.$/],
    ['{"fast": 0}', /fast must be true or false, but is 0\.$/],
    ['{"name": "a\\u0000b"}', /name must be .*, but is "a\\u0000b"\.$/],
    [`{"name": ["${'x'.repeat(1e5)}", {}]}`, /^.{1,400}$/],
  ];
  for (const [content, sentence] of wrong) {
    test(`that holds ${content.slice(0, 60)} is refused`, () => {
      refuses(() => readFrom(content), sentence);
    });
  }

  test('that is no file of a sensible size is refused, and never waited for', () => {
    const folder = temporaryFolder();
    const read = (name: string) => () => readConfigFile(path.join(folder, name), KNOWN);
    refuses(read('.'), / is a folder\.$/);
    refuses(read('none'), / does not exist\.$/);
    execFileSync('mkfifo', [path.join(folder, 'pipe')]);
    refuses(read('pipe'), / is not a regular file\.$/);
    const sparse = openSync(path.join(folder, 'sparse'), 'w');
    ftruncateSync(sparse, 2 ** 30);
    closeSync(sparse);
    refuses(read('sparse'), /is larger than 1 MB\.$/);
  });

  function readFrom(content: string): ReadonlyMap<string, string> {
    const folder = temporaryFolder();
    const file = path.join(folder, 'config.json');
    writeFileSync(file, content);
    return readConfigFile(file, new Map([...KNOWN, ['batch-rows', undefined]]));
  }
});

describe('a path', () => {
  const out = outputFolder({ description: '', isNew: true });
  const anywhere = outputFolder({ description: '' });
  const input = inputFile({ description: '' });
  /** A name; what is made in an empty folder; which path in it is then given; the sentence. */
  const wrong: readonly (readonly [string, (folder: string) => void, string, RegExp])[] = [
    ['a folder of other files', (folder) => write(folder, 'taxes.ods'), '.', /holds taxes\.ods\.$/],
    ['a folder with a run', (folder) => write(folder, 'run.json'), '.', /holds run\.json\.$/],
    [
      'a folder with a run, as none/..',
      (folder) => write(folder, 'run.json'),
      'none/..',
      /holds run\.json\.$/,
    ],
    ['a file', (folder) => write(folder, 'file'), 'file', /is not a folder/],
    ['below a file', (folder) => write(folder, 'file'), 'file/below', /lies below a file\.$/],
    ['a link to itself', (folder) => link(folder, 'loop', 'loop'), 'loop', /symbolic link/],
    ['below a link to itself', (folder) => link(folder, 'loop', 'loop'), 'loop/a', /symbolic link/],
    ['a link to nothing', (folder) => link(folder, 'gone', 'link'), 'link', /cannot be created\.$/],
    ['a path of 5,000 characters', () => {}, 'a/'.repeat(2500), /is too long\.$/],
    ['a name of 300 characters', () => {}, 'a'.repeat(300), /is too long\.$/],
  ];
  for (const [how, make, given, sentence] of wrong) {
    test(`for output is refused: ${how}`, () => {
      const folder = temporaryFolder();
      make(folder);
      const before = readdirSync(folder);
      refuses(
        () => out.check('--out', parseOption('--out', out, `${folder}/${given}`) ?? ''),
        sentence,
      );
      assert.deepEqual(readdirSync(folder), before);
    });
  }

  const skip = process.getuid?.() === 0 && 'root may write everywhere';
  test('for output is refused: a folder without permission', { skip }, () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, 'locked'));
    chmodSync(path.join(folder, 'locked'), 0o500);
    refuses(() => out.check('--out', path.join(folder, 'locked/run')), /not permitted/);
  });

  test('for output is refused: a file system that takes no folders', () => {
    refuses(() => out.check('--out', '/proc/run'), /^--out must be a folder .* "\/proc\/run" /);
  });

  test('for output is accepted if it is an empty or a new folder, or does not have to be one; the check leaves no trace', () => {
    const folder = temporaryFolder();
    out.check('--out', folder);
    out.check('--out', path.join(folder, 'a/b'));
    assert.deepEqual(readdirSync(folder), []);
    write(folder, 'taxes.ods');
    anywhere.check('--out', folder);
  });

  test('for input is refused if it is a pipe, on which a script would wait, a device, a folder or missing', () => {
    const folder = temporaryFolder();
    execFileSync('mkfifo', [path.join(folder, 'pipe')]);
    const check = (file: string) => () => input.check('--input', file);
    refuses(check(path.join(folder, 'pipe')), / is not a regular file\.$/);
    refuses(check(path.join(folder, 'none')), / does not exist\.$/);
    refuses(check('/dev/zero'), / is not a regular file\.$/);
    refuses(check(folder), / is a folder\.$/);
  });

  function write(folder: string, name: string): void {
    writeFileSync(path.join(folder, name), '');
  }

  function link(folder: string, to: string, name: string): void {
    symlinkSync(to, path.join(folder, name));
  }
});

function refuses(action: () => unknown, sentence: RegExp): void {
  assert.throws(
    action,
    (error) =>
      error instanceof UsageError && sentence.test(error.message) && !/\n/.test(error.message),
  );
}
