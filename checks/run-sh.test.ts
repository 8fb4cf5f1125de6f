/**
 * What `./run.sh` says before it sets anything up: its list of scripts agrees with package.json and
 * docs/scripts.md, and a name that no script has gets one sentence.
 */
import assert from 'node:assert/strict';
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../engine/testing/temporary-folder.ts';
import packageJson from '../package.json' with { type: 'json' };

const ROOT = path.join(import.meta.dirname, '..');
/** Programs of every Unix. Neither Node nor npm is among them. */
const NEEDED = ['awk', 'cat', 'cut', 'dirname', 'readlink', 'sed'];

const bin = path.join(temporaryFolder(), 'bin');
mkdirSync(bin);
for (const name of NEEDED) {
  const found = ['/bin', '/usr/bin'].map((folder) => path.join(folder, name));
  symlinkSync(found.find((file) => existsSync(file)) ?? name, path.join(bin, name));
}

const help = run('--help').stdout;
const groups = helpGroups(help);

test('docs/scripts.md says in each row how long the script takes', () => {
  const rows = [...read('docs/scripts.md').matchAll(/^\| `(\S+)`.*\| ([^|]+?) *\|$/gm)];
  assert.ok(rows.length > 30);
  for (const [, script = '', time] of rows) {
    const [, section = ''] = read('docs/options.md').split(`\n## ${script}\n`);
    const [, quick] =
      /--profile <word>[^(]*?quick (\d+ \w+)/.exec(
        section.split('\n## ')[0]?.replaceAll(/\s+/g, ' ') ?? '',
      ) ?? [];
    if (quick !== undefined) assert.equal(time, quick, script);
    else assert.match(time ?? '', /second|minute|grows|twice/, script);
  }
});

describe('./run.sh --help', () => {
  test('lists every script once', () => {
    const listed = groups.flatMap(({ scripts }) => scripts.map(({ name }) => name));
    assert.deepEqual(listed.toSorted(), Object.keys(packageJson.scripts).toSorted());
  });

  test('groups the scripts as docs/scripts.md does, with the same questions', () => {
    const ofUsers = groups.filter(({ group }) => group !== 'Development');
    assert.deepEqual(ofUsers, tableGroups());
  });

  test('prints the help and nothing else, also without dashes and in the short form', () => {
    for (const word of ['--help', 'help', '-h']) {
      const { stdout, stderr, status } = run(word);
      assert.deepEqual([stdout, stderr, status], [help, '', 0], word);
    }
  });
});

test('./run.sh --version says the version of package.json', () => {
  const { stdout, status } = run('--version');
  assert.deepEqual([stdout, status], [`percolator-bench ${packageJson.version}\n`, 0]);
});

describe('a name that no script has gets one sentence with the nearest one:', () => {
  const near = {
    'bench:micr': 'bench:micro',
    micro: 'bench:micro',
    brokrage: 'bench:brokerage',
    'BENCH:ORACLE': 'bench:oracle',
    packengine: 'pack:engine',
    fcsk: 'fsck',
    formatcheck: 'format:check',
  };
  for (const [given, nearest] of Object.entries(near)) {
    test(given, () => {
      const { stderr, stdout, status } = run(given, '--seconds', '1');
      assert.equal(
        stderr,
        `There is no script ${given}; the nearest is ${nearest}, and ./run.sh --help lists all.\n`,
      );
      assert.deepEqual([stdout, status], ['', 2]);
    });
  }

  for (const given of ['zzzzzzz', '.*', '$(exit 7)', '\\', 'a b']) {
    test(`${given} is near to none`, () => {
      const { stderr, status } = run(given);
      assert.equal(stderr, `There is no script ${given}; ./run.sh --help lists all.\n`);
      assert.equal(status, 2);
    });
  }
});

test('the first half of a name gets the names that begin with it', () => {
  const { stderr, status } = run('bench');
  const benches = Object.keys(packageJson.scripts).filter((name) => name.startsWith('bench:'));
  assert.ok(benches.length > 10);
  const all = benches.join(', ');
  assert.equal(
    stderr,
    `There is no script bench; there are ${all}, and ./run.sh --help lists all.\n`,
  );
  assert.equal(status, 2);
});

test('links lead to the repository, from any folder', () => {
  const folder = temporaryFolder();
  symlinkSync(path.join(ROOT, 'run.sh'), path.join(folder, 'first'));
  symlinkSync('first', path.join(folder, 'second'));
  const call = [path.join(folder, 'second'), '--version'];
  const { stdout, stderr } = spawnSync('/bin/sh', call, { encoding: 'utf8', env: { PATH: bin } });
  assert.deepEqual([stdout, stderr], [`percolator-bench ${packageJson.version}\n`, '']);
});

test('streams that the caller has closed are not needed', () => {
  const { stdout, status } = spawnSync(
    '/bin/sh',
    ['-c', '/bin/sh ./run.sh zzzzzzz <&- 2>&-; echo $?; /bin/sh ./run.sh --version <&- 2>&-'],
    { cwd: ROOT, encoding: 'utf8', env: { PATH: bin } },
  );
  assert.deepEqual([stdout, status], [`2\npercolator-bench ${packageJson.version}\n`, 0]);
});

interface Group {
  readonly group: string;
  readonly scripts: readonly { readonly name: string; readonly question: string }[];
}

function helpGroups(text: string): readonly Group[] {
  const sections = text.matchAll(/^([A-Z]\w+):\n((?:  .*\n)+)/gm);
  return [...sections].map(([, group = '', lines = '']) => ({
    group,
    scripts: [...lines.matchAll(/^  (\S+) {2,}(.+)$/gm)].map(([, name = '', question = '']) => ({
      name,
      question,
    })),
  }));
}

/** The groups of the table of scripts, without its marks. */
function tableGroups(): readonly Group[] {
  const [, table = ''] = /^\| Script .*\n\|.*\n((?:\|.*\n)+)/m.exec(read('docs/scripts.md')) ?? [];
  return table
    .split(/^\| \*\*/m)
    .slice(1)
    .map((section) => ({
      group: section.slice(0, section.indexOf('**')),
      scripts: [...section.matchAll(/^\| `(\S+)`[^|]*\| ([^|]*[^|\s]) +\|/gm)].map(
        ([, name = '', question = '']) => ({ name, question: question.replaceAll('`', '') }),
      ),
    }));
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

function run(...words: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync('/bin/sh', [path.join(ROOT, 'run.sh'), ...words], {
    encoding: 'utf8',
    env: { PATH: bin },
  });
}
