/**
 * The command line of a script: options, `--help`, exit codes, interrupts. A user's mistake gets
 * one sentence and exit code 2.
 */
import assert from 'node:assert/strict';
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { readdirSync, writeFileSync, closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { execa, type Options } from 'execa';
import { parseCommandLine } from './command-line.ts';
import { choice, flag, inputFile, integer, integerList, number, numberList } from './options.ts';
import { onlyWith, outputFolder, textList } from './options.ts';
import { temporaryFolder } from '../../../engine/testing/temporary-folder.ts';
import { UsageError } from '#results';

// The scripts below would inherit it, and print a stack with each error.
delete process.env['PERCOLATOR_DEBUG'];

const specification = {
  script: 'bench:sample',
  description: 'A sample.',
  options: {
    documents: integer({ description: 'repository size', min: 1, max: 1e9, default: 1000 }),
    keysPerTable: integer({
      description: 'keys',
      min: 1,
      max: 1e9,
      defaultText: '0.75 of --documents',
    }),
    seconds: number({ description: 'how long', unit: 'seconds', min: 0.1, max: 60, default: 2.5 }),
    rates: numberList({ description: 'rates', default: [1, 10], min: 0.1, max: 1e6 }),
    clients: integerList({ description: 'clients', default: [1], min: 1, max: 64 }),
    profile: choice({ description: 'size', choices: ['smoke', 'quick'], default: 'quick' }),
    fast: flag({ description: 'no fsync' }),
    noFsync: flag({ description: 'no fsync' }),
    rows: onlyWith(
      { profile: ['smoke'] },
      integer({ description: 'rows', min: 1, max: 9, default: 5 }),
    ),
    out: outputFolder({ description: 'results', isNew: true }),
    crawl: inputFile({ description: 'a crawl' }),
    table: textList({ description: 'a table', placeholder: 'name' }),
  },
  examples: [{ command: './run.sh bench:sample --rates 1', does: 'One rate.' }],
} as const;

test('an option of other scripts is refused in its sentence, and no other word is taken for one', () => {
  const refusing = { ...specification, refused: { hosts: 'Why not.' } };
  assert.throws(() => parseCommandLine(refusing, ['--hosts=3']), new UsageError('Why not.'));
  for (const words of [
    ['--table', 'myhosts'],
    ['--table', 'xxconstructor'],
  ]) {
    assert.deepEqual(parseCommandLine(refusing, words)?.table, words.slice(1));
  }
  assert.throws(() => parseCommandLine(refusing, ['--constructor']), /^UsageError: Unknown option/);
});

describe('options in a file', () => {
  test('work like those of the command line, which take precedence', () => {
    const folder = temporaryFolder();
    const config = path.join(folder, 'config.json');
    const given = {
      documents: 7,
      'keys-per-table': 9,
      rates: [2, 3],
      profile: 'smoke',
      fast: true,
    };
    writeFileSync(config, JSON.stringify(given));
    const options = parseCommandLine(specification, ['--config', config, '--documents', '8']);
    assert.equal(options?.documents, 8);
    assert.equal(options.keysPerTable, 9);
    assert.deepEqual(options.rates, [2, 3]);
    assert.equal(options.profile, 'smoke');
    assert.equal(options.fast, true);
    assert.equal(options.seconds, 2.5);
  });

  const mistakes = [
    { holds: '{"keysPerTable": 1}', says: /there is no --keysPerTable\.$/ },
    { holds: '{"documents": 0}', says: /^--documents must be .* but is "0"\.$/ },
    { holds: '{"fast": false, "profile": null}', says: /profile must be .*, but is null\.$/ },
    { holds: '[1]', says: /does not hold an object\.$/ },
    { holds: 'documents', says: /is not JSON\.$/ },
  ];
  for (const { holds, says } of mistakes) {
    test(`that say ${holds} are refused in one sentence`, () => {
      const folder = temporaryFolder();
      const config = path.join(folder, 'config.json');
      writeFileSync(config, holds);
      const parse = (): unknown => parseCommandLine(specification, ['--config', config]);
      assert.throws(parse, (error) => error instanceof UsageError && says.test(error.message));
    });
  }

  test('that is not there are refused', () => {
    const parse = (): unknown => parseCommandLine(specification, ['--config', 'no-such-file']);
    assert.throws(parse, /^UsageError: --config must be .* "no-such-file" does not exist/);
  });
});

describe('a correct command line', () => {
  test('without options gives the defaults, and undefined for an option without one', () => {
    const options = parseCommandLine(specification, []);
    assert.equal(options?.documents, 1000);
    assert.equal(options.keysPerTable, undefined);
    assert.deepEqual(options.rates, [1, 10]);
    assert.equal(options.fast, false);
    assert.equal(options.out, undefined);
    assert.deepEqual(options.table, []);
  });

  test('may repeat an option that is a list of texts', () => {
    const options = parseCommandLine(specification, [
      '--table',
      'a',
      '--table=b,c',
      '--table',
      'd',
    ]);
    assert.deepEqual(options?.table, ['a', 'b,c', 'd']);
  });

  test('may give an option whose name begins with "no"', () => {
    assert.equal(parseCommandLine(specification, [])?.noFsync, false);
    assert.equal(parseCommandLine(specification, ['--no-fsync'])?.noFsync, true);
  });

  test('may give an option that depends on another one, if that has a fitting value', () => {
    const options = parseCommandLine(specification, ['--profile', 'smoke', '--rows', '7']);
    assert.equal(options?.rows, 7);
    assert.equal(parseCommandLine(specification, [])?.rows, 5);
  });

  test('gives typed values', () => {
    const line = '--documents 1e6 --keys-per-table 750 --rates 0.5,2 --profile smoke --fast';
    const options = parseCommandLine(specification, line.split(' '));
    assert.equal(options?.documents, 1_000_000);
    assert.equal(options.keysPerTable, 750);
    assert.deepEqual(options.rates, [0.5, 2]);
    const profile: 'smoke' | 'quick' = options.profile;
    assert.equal(profile, 'smoke');
    assert.equal(options.fast, true);
  });
});

describe('the message for a wrong command line names the option, the value, and what is allowed', () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    [
      '--documents abc',
      /^--documents must be a whole number from 1 to 1000000000, but is "abc"\.$/,
    ],
    ['--documents 0', /--documents .* but is "0"/],
    ['--documents 1.5', /--documents .* whole number .* but is "1\.5"/],
    ['--documents 0x10', /--documents .* but is "0x10"/],
    ['--documents -5', /--documents .*"-5"/],
    ['--seconds Infinity', /--seconds must be a number from 0\.1 to 60, in seconds, but is "Inf/],
    ['--seconds 1e999', /--seconds/],
    [
      '--rates 1,,2',
      /--rates must be different numbers from 0\.1 to 1000000, separated by commas.*"1,,2"/,
    ],
    ['--rates 1,0', /--rates .*"1,0"/],
    ['--rates 1,NaN', /--rates .*"1,NaN"/],
    ['--rates 1e400', /--rates .*"1e400"/],
    ['--rates 0x10', /--rates .*"0x10"/],
    ['--rates 10,1e1', /--rates must be different .*"10,1e1"/],
    [
      '--clients 1.5',
      /^--clients must be different whole numbers from 1 to 64, separated by commas, such as .*"1\.5"/,
    ],
    ['--clients 1,65', /--clients .*"1,65"/],
    ['--clients 1,2,1', /--clients must be different .*"1,2,1"/],
    ['--profile slow', /--profile must be one of smoke, quick, but is "slow"/],
    ['--prof quick', /nknown option '--prof' .*--profile/],
    ['--rows 7', /^--rows has an effect only with --profile smoke, but --profile is quick\.$/],
    ['--documents', /--documents.*argument missing/],
    ['--documents --rates 1', /^--documents needs a value, but --rates follows it; .* --help/],
    [`--profile ${'x'.repeat(1e5)}`, /^--profile must be one of .*, but is "x{99}\.\.\.\.$/],
    ['--table a --table=', /--table must be a text that is not empty/],
    ['extra', /[Tt]oo many arguments/],
    ['--crawl no/such/file', /--crawl must be a file .* "no\/such\/file" does not exist/],
    ['--crawl .', /--crawl must be a file .* "\." .*folder/],
    ['--out package.json/below', /--out must be a folder .* "package\.json\/below"/],
  ];
  for (const [line, sentence] of wrong) {
    test(line, () => {
      assert.throws(
        () => parseCommandLine(specification, line.split(' ')),
        (error) => error instanceof UsageError && sentence.test(error.message) && isOneLine(error),
      );
    });
  }

  test('an output folder that already holds a run', () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'run.json'), '{}');
    assert.throws(
      () => parseCommandLine(specification, ['--out', folder]),
      /results are never overwritten/,
    );
  });

  test('the check of an output folder creates nothing', () => {
    const folder = temporaryFolder();
    parseCommandLine(specification, ['--out', path.join(folder, 'a', 'b')]);
    assert.deepEqual(readdirSync(folder), []);
  });
});

describe('a script as its user meets it', () => {
  test('--help explains the purpose, every option and the examples, and exits 0', async () => {
    const { stdout, exitCode } = await runScript('', ['--help']);
    assert.equal(exitCode, 0);
    for (const words of [
      'Waits.',
      '--seconds <number>',
      '--json',
      '--out <',
      'default: 60',
      'Examples:',
      './run.sh wait',
    ]) {
      assert.ok(stdout.includes(words), `--help says ${words}`);
    }
  });

  test('-h prints the same as --help, and --version prints the version', async () => {
    const [long, short] = [await runScript('', ['--help']), await runScript('', ['-h'])];
    assert.deepEqual([short.exitCode, short.stdout], [0, long.stdout]);
    const version = await runScript('', ['--version']);
    assert.deepEqual([version.exitCode, version.stdout], [0, 'percolator-bench 0.1.0']);
  });

  test('the command that repeats a run leaves out --json, and where the result went', async () => {
    const body = 'console.log(context.commandLine)';
    const words = ['--out', 'x', '--seconds=7', '--json', '--out=y', '--config', 'my file'];
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'my file'), '{}');
    const { stdout, stderr } = await runScript(body, words, {}, folder);
    assert.equal(stdout, "./run.sh wait --seconds=7 --config 'my file'", stderr);
  });

  test('relative paths count from the folder of the caller of npm run, unless that runs another script', async () => {
    const folder = temporaryFolder();
    const { stdout } = await runScript('console.log(process.cwd())', [], {
      npm_lifecycle_event: 'wait',
      INIT_CWD: folder,
    });
    assert.equal(stdout, folder);
    const env = { npm_lifecycle_event: 'test:unit', INIT_CWD: folder };
    assert.equal((await runScript('console.log(process.cwd())', [], env)).stdout, process.cwd());
  });

  test('what fails because of an interrupt is not reported as an error', async () => {
    const { stderr, exitCode } = await runScript(
      `setInterval(() => {}, 1000);
       setImmediate(() => process.kill(process.pid, 'SIGINT'));
       await new Promise((resolve) => signal.addEventListener('abort', resolve));
       void Promise.reject(new Error('a process was cancelled'));
       await new Promise((resolve) => setTimeout(resolve, 20));
       throw new Error('cancelled');`,
    );
    assert.equal(exitCode, 130);
    assert.doesNotMatch(stderr, /cancelled/);
  });

  test('a file may hold options without effect here, if the script lists them; they are reported', async () => {
    const folder = temporaryFolder();
    const config = path.join(folder, 'config.json');
    writeFileSync(config, '{"seconds": 7, "batch-rows": "many"}');
    const body = 'console.log(JSON.stringify(options))';
    const { stdout, stderr, exitCode } = await runScript(body, ['--config', config]);
    assert.equal(exitCode, 0, stderr);
    const options = JSON.parse(stdout) as Record<string, unknown>;
    assert.deepEqual([options['seconds'], options['batchRows']], [7, undefined]);
    assert.match(stderr, /^Settings in .*config\.json without effect here: batch-rows\.$/);

    writeFileSync(config, '{"wait": "for it", "batch-rows": "many"}');
    const idle = await runScript(body, ['--config', config, '--seconds', '7']);
    assert.equal(idle.exitCode, 0, idle.stderr);
    assert.match(idle.stderr, /^Settings in .* without effect here: wait, batch-rows\.$/);

    const typed = await runScript(body, ['--batch-rows', '5']);
    assert.equal(typed.exitCode, 2);
    writeFileSync(config, '{"batch-size": 5}');
    assert.match((await runScript(body, ['--config', config])).stderr, /there is no --batch-size/);
  });

  test('a usage error found while running prints its sentence alone and exits 2', async () => {
    const { stderr, exitCode } = await runScript("throw new UsageError('The file is corrupt.')");
    assert.equal(stderr, 'The file is corrupt.');
    assert.equal(exitCode, 2);
  });

  test('an error prints control characters of names and contents as escapes, but for line ends', async () => {
    const { stderr } = await runScript(String.raw`throw new Error('of \x1b[31m\x9b\x07:\n\tmore')`);
    assert.equal(stderr, String.raw`Error: of \u001b[31m\u009b\u0007:` + '\n\tmore');
  });

  test('an error of the clean-up does not hide the one that came first', async () => {
    const failing = (first: string): string =>
      `await using cleanup = new AsyncDisposableStack();
       cleanup.defer(() => { throw new Error('not removed'); });
       cleanup.defer(() => { throw new Error('not closed'); });
       throw new ${first}('The file is corrupt.')`;
    const usage = await runScript(failing('UsageError'));
    assert.deepEqual([usage.stderr, usage.exitCode], ['The file is corrupt.', 2]);
    const plain = await runScript(failing('Error'));
    assert.deepEqual([plain.stderr, plain.exitCode], ['Error: The file is corrupt.', 1]);
    const { stderr } = await runScript(failing('Error'), ['--verbose']);
    assert.match(
      stderr,
      /^Error: The file is corrupt\.\n +at [^]* not closed\n +at [^]* not removed/,
    );
  });

  test('an unexpected error prints its message, with --verbose its stack, and exits 1', async () => {
    const plain = await runScript("throw new Error('boom')");
    assert.deepEqual([plain.stderr, plain.exitCode], ['Error: boom', 1]);
    const verbose = await runScript("throw new Error('boom')", ['--verbose']);
    assert.match(verbose.stderr, /Error: boom\n +at /);
    const debug = await runScript("throw new Error('boom')", [], { PERCOLATOR_DEBUG: '1' });
    assert.match(debug.stderr, /\n +at /);
    for (const off of ['0', 'false', '']) {
      const quiet = await runScript("throw new Error('boom')", [], { PERCOLATOR_DEBUG: off });
      assert.equal(quiet.stderr, 'Error: boom', `PERCOLATOR_DEBUG=${off}`);
    }
  });

  test('a TMPDIR that cannot be used is refused in one sentence, before anything runs', async () => {
    const body = "console.log('ran')";
    const file = path.join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    for (const [TMPDIR, reason] of [
      ['no/such/folder', 'does not exist'],
      [file, 'is not a folder, or lies below a file'],
    ] as const) {
      const { stdout, stderr, exitCode } = await runScript(body, [], { TMPDIR });
      const sentence = `TMPDIR must be a folder that can be written, but "${TMPDIR}" ${reason}.`;
      assert.deepEqual([stdout, stderr, exitCode], ['', sentence, 2]);
    }
    assert.equal((await runScript(body, ['--help'], { TMPDIR: 'none' })).exitCode, 0);
    assert.equal((await runScript(body, [], { TMPDIR: temporaryFolder() })).stdout, 'ran');
  });

  test('a limit of open files that is too low for any measurement is refused in one sentence', async () => {
    const script = [process.execPath, scriptOf("console.log('ran')")] as const;
    const limited = (files: number): SpawnSyncReturns<string> =>
      spawnSync('sh', ['-c', `ulimit -n ${files}; exec "$0" "$1"`, ...script], {
        encoding: 'utf8',
      });
    const { stdout, stderr, status } = limited(24);
    assert.equal(
      stderr,
      'The limit of open files must be at least 256, but is 24: raise it, with ulimit -n 1024.\n',
    );
    assert.deepEqual([stdout, status], ['', 2]);
    assert.equal(limited(256).stdout, 'ran\n');
  });

  test('an error in a callback prints its message alone, too, and exits 1', async () => {
    const { stderr, exitCode } = await runScript(
      "setImmediate(() => { throw new Error('late') }); await new Promise(() => {});",
    );
    assert.deepEqual([stderr, exitCode], ['Error: late', 1]);
  });

  test('a full disk for standard output is one sentence; for standard error, it is survived', () => {
    const body = `process.stdout.write('a\\n'); process.stderr.write('b\\n');
      await new Promise((resolve) => setTimeout(resolve, 100)); process.stdout.write('done');`;
    const full = openSync('/dev/full', 'w');
    const run = (...stdio: ('pipe' | number)[]): SpawnSyncReturns<string> =>
      spawnSync(process.execPath, [scriptOf(body)], {
        stdio: ['ignore', ...stdio],
        encoding: 'utf8',
      });
    const withoutOutput = run(full, 'pipe');
    assert.match(
      withoutOutput.stderr,
      /^b\nError: standard output cannot be written: ENOSPC: .*\n$/,
    );
    assert.equal(withoutOutput.status, 1);
    const withoutErrors = run('pipe', full);
    assert.deepEqual([withoutErrors.stdout, withoutErrors.status], ['a\ndone', 0]);
    closeSync(full);
  });

  test('ctrl-C lets the script clean up and exits 130', async () => {
    const { stdout, exitCode } = await runScript(
      `setInterval(() => {}, 1000);
       setImmediate(() => process.kill(process.pid, 'SIGINT'));
       await new Promise((resolve) => signal.addEventListener('abort', resolve));
       console.log('cleaned up');`,
    );
    assert.deepEqual([stdout, exitCode], ['cleaned up', 130]);
  });

  test('a signal from the terminal and the same from a parent are one ctrl-C', async () => {
    const { stdout, exitCode } = await runScript(
      `setInterval(() => {}, 1000);
       process.kill(process.pid, 'SIGINT');
       await new Promise((resolve) => signal.addEventListener('abort', resolve));
       process.kill(process.pid, 'SIGINT');
       await new Promise((resolve) => setTimeout(resolve, 50));
       console.log('cleaned up');`,
    );
    assert.deepEqual([stdout, exitCode], ['cleaned up', 130]);
  });

  test('a second ctrl-C exits at once', async () => {
    const { exitCode } = await runScript(
      `setInterval(() => process.kill(process.pid, 'SIGINT'), 10);
       await new Promise(() => {});`,
    );
    assert.equal(exitCode, 130);
  });
});

interface Ending {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | undefined;
}

/** Runs a script whose action is `body`, in a process of its own. */
async function runScript(
  body: string,
  words: readonly string[] = [],
  env: NonNullable<Options['env']> = {},
  cwd = process.cwd(),
): Promise<Ending> {
  const { stdout, stderr, exitCode } = await execa(process.execPath, [scriptOf(body), ...words], {
    reject: false,
    env,
    cwd,
    timeout: 300_000,
  });
  return { stdout, stderr, exitCode };
}

/** A file with a script whose action is `body`. */
function scriptOf(body: string): string {
  const folder = temporaryFolder();
  const file = path.join(folder, 'script.mjs');
  const module = pathToFileURL(path.join(import.meta.dirname, '../index.ts')).href;
  writeFileSync(
    file,
    `import { flag, onlyWith, runCommand, number, text, UsageError } from ${JSON.stringify(module)};
     await runCommand({
       script: 'wait',
       description: 'Waits.',
       options: {
         seconds: number({ description: 'how long', default: 60, min: 1, max: 60 }),
         json: flag({ description: 'as JSON' }),
         out: text({ description: 'where' }),
         wait: onlyWith({ seconds: ['60'] }, text({ description: 'for what' })),
       },
       ignoredInFiles: ['batchRows'],
       examples: [{ command: './run.sh wait --seconds 1', does: 'Waits a second.' }],
     }, async (options, context) => { const { signal } = context; ${body} });`,
  );
  return file;
}

function isOneLine(error: Error): boolean {
  return !error.message.includes('\n');
}
