/**
 * A table of jobs and inputs on every engine that this machine has: all give the same result, or
 * all refuse in the same sentence. The results are written down here, too.
 */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { temporaryFolder } from '#engine/testing';
import { filesOf, MapReduceError } from '#mapreduce';
import { type BatchEngine, findBatchEngine } from '../../harness/batch-engines.ts';

const BYTES = new URL('../../../mapreduce-baseline/bytes.ts', import.meta.url).href;
const SIZE = { workers: 1, memoryBytes: 64 * 2 ** 20 };
const folder = temporaryFolder();

const engines: BatchEngine[] = [];
const missing: string[] = [];
for (const name of ['local', 'sort', 'hadoop', 'spark'] as const) {
  const found = await findBatchEngine(name, SIZE);
  if (typeof found === 'string') missing.push(found);
  else engines.push(found);
}
after(async () => {
  for (const engine of engines) await engine[Symbol.asyncDispose]();
});
/** Hadoop and Spark take seconds for a run, so most of the table is for the others. */
const quick = engines.filter(({ name }) => !['Hadoop', 'Spark'].includes(name));

/** A job whose result is its records in hexadecimal digits: which key came with which values. */
const SHOWING = `
const hex = ({ bytes, start, end }) => bytes.toString('hex', start, end);
const reduce = (key, values, output) => {
  const all = [];
  while (values.next()) all.push(hex(values.value));
  output.emit(slice(hex(key)), slice(all.toSorted().join()));
};`;

let files = 0;
/** The URL of a job's module. @param body code that has `Slice`, `slice` and `nothing` */
async function job(body: string): Promise<string> {
  const file = path.join(folder, `job-${files++}.mjs`);
  const begin = `import { Slice } from '${BYTES}';
const slice = (given) => new Slice(Buffer.from(given));
const nothing = new Slice();
${SHOWING}`;
  await writeFile(file, `${begin}\n${body}`);
  return pathToFileURL(file).href;
}

/** What became of a run: the lines of its result, sorted, or the error. */
async function outcomeOf(
  engine: BatchEngine,
  url: string,
  inputs: readonly string[],
): Promise<readonly string[] | MapReduceError> {
  const outputFolder = path.join(folder, `output-${files++}`);
  const chain = { url, parameters: [undefined] };
  try {
    await engine.run({ chain, inputs: inputs.map((file) => ({ path: file })), outputFolder });
  } catch (error) {
    assert.ok(error instanceof MapReduceError, String(error));
    assert.deepEqual(await readdir(folder).then((all) => all.filter(isLeft)), [], engine.name);
    return error;
  }
  const parts = await filesOf(outputFolder);
  const texts = await Promise.all(parts.map((part) => readFile(part, 'utf8')));
  return texts.join('').split('\n').filter(Boolean).toSorted();
}

/** Whether a failed run has left the file. */
function isLeft(name: string): boolean {
  return /\.(?:unfinished|jobs)-/.test(name);
}

async function inputOf(contents: string | Buffer, name = `input-${files++}`): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, contents);
  return file;
}

const hex = (text: string): string => Buffer.from(text, 'latin1').toString('hex');

test(`at least our own runner is here; ${missing.length} engines are not`, () => {
  assert.ok(engines.length > 0 && quick.length > 0, missing.join(' '));
});

describe('every engine', () => {
  test('maps the same lines of a folder, keeps all bytes of keys and values, and takes no print for a record', async () => {
    const input = path.join(folder, 'mixed');
    await mkdir(input);
    const packed = Buffer.concat([gzipSync('first member\n'), gzipSync('second\n')]);
    const outside = await inputOf('through a link\n');
    for (const [name, contents] of [
      ['part-00000', 'a\tb\na\\tb\na\n\n\r\nCRLF\r\nno line end'],
      ['part-00001.gz', packed],
      ['part-00002', ''],
      ['_SUCCESS', 'hidden\n'],
      ['.part-00000.crc', 'hidden too\n'],
    ] as const) {
      await writeFile(path.join(input, name), contents);
    }
    await symlink(outside, path.join(input, 'part-00003'));
    await mkdir(path.join(input, '_temporary'));
    const url = await job(`
import { spawnSync } from 'node:child_process';
import { writeSync } from 'node:fs';
console.log('loading');
setInterval(() => {}, 1_000); // Nothing waits for it.
export const createJob = async () => {
  await undefined;
  const odd = slice('v\\t\\n\\r\\\\n\\0');
  const print = (where) => {
    console.log(where);
    process.stdout.write(where + '\\n');
    writeSync(1, where + '\\n');
    spawnSync('echo', [where], { stdio: 'inherit' });
  };
  return {
    map: (line, output) => {
      if (line.length === 0) print('mapping');
      output.emit(line, nothing);
      output.emit(slice(line + '\\n\\t\\\\'), odd);
    },
    reduce: (key, values, output) => {
      if (key.length === 0) print('reducing');
      reduce(key, values, output);
    },
  };
};`);
    const lines = [
      'a\tb',
      'a\\tb',
      'a',
      '',
      '\r',
      'CRLF\r',
      'no line end',
      'first member',
      'second',
      'through a link',
    ];
    const odd = hex('v\t\n\r\\n\0');
    const expected = lines
      .flatMap((line) => [hex(line), `${hex(`${line}\n\t\\`)}\t${odd}`])
      .filter(Boolean)
      .toSorted();
    const inputs = await filesOf(input);
    for (const engine of engines) {
      assert.deepEqual(await outcomeOf(engine, url, inputs), expected, engine.name);
    }
  });

  const refused: readonly (readonly [
    claim: string,
    body: string,
    code: MapReduceError['code'],
    sentence: RegExp,
  ])[] = [
    [
      'an async map',
      'export const createJob = () => ({ map: async (line, output) => output.emit(line, nothing), reduce });',
      'JOB_INVALID',
      /map must not be async: it returned a promise/,
    ],
    [
      'an async reduce',
      'export const createJob = () => ({ map: (line, output) => output.emit(line, nothing), reduce: async () => { throw new Error(); } });',
      'JOB_INVALID',
      /reduce must not be async: it returned a promise/,
    ],
    [
      'an emit after map has returned',
      `export const createJob = () => ({
  map: (line, output) => void Promise.resolve().then(() => output.emit(nothing, nothing)), reduce });`,
      'JOB_INVALID',
      /emit must be called before map, combine or reduce has returned/,
    ],
    [
      'a text as a key',
      "export const createJob = () => ({ map: (line, output) => output.emit('text', line), reduce });",
      'JOB_INVALID',
      /the key of a record must be a Slice, but is the text "text"/,
    ],
    [
      'bytes as a value',
      'export const createJob = () => ({ map: (line, output) => output.emit(line, line.bytes), reduce });',
      'JOB_INVALID',
      /the value of a record must be a Slice, but is a Buffer/,
    ],
    [
      'a createJob that returns nothing',
      'export const createJob = () => {};',
      'JOB_INVALID',
      /createJob of .* must return a job, but returned undefined/,
    ],
    [
      'a process that map ends, as if all was well',
      "export const createJob = () => ({ map: (line) => { if (String(line) === 'b') process.exit(0); }, reduce });",
      'TASK_FAILED',
      /process .*\(exit code 0\)/,
    ],
    [
      'a process that reduce ends',
      'export const createJob = () => ({ map: (line, output) => output.emit(line, nothing), reduce: () => process.exit(3) });',
      'TASK_FAILED',
      /process .*\(exit code 3\)/,
    ],
    [
      'what map throws',
      "export const createJob = () => ({ map: () => { throw new Error('the dog ate it'); }, reduce });",
      'TASK_FAILED',
      /the dog ate it/,
    ],
  ];
  for (const [claim, body, code, sentence] of refused) {
    test(`refuses ${claim}, with the reason`, async () => {
      const [url, input] = [await job(body), await inputOf('a\nb\na\n')];
      for (const engine of quick) {
        const outcome = await outcomeOf(engine, url, [input]);
        assert.ok(outcome instanceof MapReduceError, `${engine.name}: ${String(outcome)}`);
        assert.match(outcome.message, sentence, engine.name);
        assert.equal(outcome.code, code, engine.name);
      }
    });
  }

  const unusable: readonly (readonly [
    name: string,
    contents: string | Buffer,
    sentence: RegExp,
  ])[] = [
    ['lines.bz2', 'BZh9', /lines\.bz2 is packed, and only \.gz is unpacked: unpack it/],
    ['lines.gz', 'no gzip\n', /lines\.gz cannot be unpacked: incorrect header check/],
    ['cut.gz', gzipSync('a line\n').subarray(0, -4), /cut\.gz cannot be unpacked: unexpected end/],
  ];
  for (const [name, contents, sentence] of unusable) {
    test(`refuses ${name} before it starts anything`, async () => {
      const url = await job('export const createJob = () => ({ map: () => {}, reduce });');
      const input = await inputOf(contents, name);
      for (const engine of engines) {
        const outcome = await outcomeOf(engine, url, [input]);
        assert.ok(outcome instanceof MapReduceError, engine.name);
        assert.match(outcome.message, sentence, engine.name);
        assert.equal(outcome.code, 'INVALID_ARGUMENT', engine.name);
      }
    });
  }
});

test('Hadoop refuses a carriage return in a result, where it would end the line', async (t) => {
  const hadoop = engines.find(({ name }) => name === 'Hadoop');
  if (hadoop === undefined) return t.skip(missing.join(' '));
  const url = await job(
    'export const createJob = () => ({ map: (line, output) => output.emit(line, nothing), reduce: (key, _, output) => output.emit(key, nothing) });',
  );
  const outcome = await outcomeOf(hadoop, url, [await inputOf('CRLF\r\n')]);
  assert.ok(outcome instanceof MapReduceError);
  assert.match(outcome.message, /a result must have no carriage return .* lines there: "CRLF\\r"/);
  assert.equal(outcome.code, 'RECORD_INVALID');
});
