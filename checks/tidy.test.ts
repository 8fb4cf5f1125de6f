/**
 * Rules about the files themselves, which neither compiler nor linter checks (after TigerBeetle's
 * tidy.zig): the documentation agrees with the code, and no file holds forbidden text.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { type ErrorCode, isRetryable, PercolatorError } from '#engine';
import packageJson from '../package.json' with { type: 'json' };
import { runInTurn } from '../workloads/harness/testing/run-script.ts';
import { optionsPage } from '../workloads/tools/options/page.ts';
import { artifactPage } from '../workloads/tools/reproduce/artifact-page.ts';
import { SLOW } from '../workloads/tools/test/slow.ts';
import { LINES_MAX, projectFiles, SPLINTERS_FILE, splintersOf } from './modules.ts';

const ROOT = path.join(import.meta.dirname, '..');
const FOLDERS = [
  '.ci',
  'checks',
  'docs',
  'engine',
  'examples',
  'mapreduce-baseline',
  'results',
  'workloads',
];
const COLUMNS_MAX = 100;
/** Long texts that programs write. */
const GENERATED = ['docs/columns.md', 'docs/options.md', 'package-lock.json'];
const REFERENCE = 'results/reference/';

/** Between two words: a space, or a line's end with what begins the next line of a comment. */
const GAP = String.raw`(?: |\n[\s\\*/#>-]*)`;

/**
 * Words that hide the actor, and idioms that a newcomer stumbles over. The brackets keep the list
 * from matching itself.
 */
const VAGUE = new RegExp(
  [
    /(?:some|any|every|no)[b]ody|(?:some|any|every)[o]ne|[n]o one|who(?:m)?[e]ver|[w]hom/,
    /[h]e|[h]im|[h]imself|[h]is|[b]ehind|[b]eside|[b]y itself|[u]nderway|[m]ust never be/,
    /[b]y other means|[t]aken away|[a]ll round|comes? [r]ound|begins? [a]new|[m]atter of taste/,
  ]
    .map(({ source }) => `\\b(?:${source.replaceAll(' ', GAP)})\\b`)
    .join('|'),
  'gi',
);

/** Exact quotations that hold such a word, by file. */
const QUOTATIONS: ReadonlyMap<string, readonly string[]> = new Map([
  // The account of Unix that owns nothing.
  ['workloads/brokerage/postgres/binaries.ts', ["'no\u0062ody'", 'no\u0062ody']],
]);

const files = projectFiles();
const texts = new Map(
  files
    .filter((file) => /\.(?:ts|md|json|sh|css|sql|c|tla)$|^\.ci\/run$/.test(file))
    .filter((file) => !file.startsWith(REFERENCE))
    .map((file) => [file, read(file)]),
);
const sources = [...texts].filter(([file]) => file.endsWith('.ts'));

describe('files', () => {
  test('lie in the folders that ARCHITECTURE.md describes', () => {
    const folders = new Set(files.filter((file) => file.includes('/')).map(firstFolder));
    assert.deepEqual([...folders].toSorted(), FOLDERS);
    for (const folder of folders) assert.ok(read('ARCHITECTURE.md').includes(`\n${folder}/`));
  });

  test('in TypeScript begin with a comment that describes them', () => {
    const silent = sources.filter(([, text]) => !/^(?:#!.*\n)?(?:\/\*\*|\/\/)/.test(text));
    assert.deepEqual(names(silent), []);
  });

  test('are short enough to be read in one sitting', () => {
    const long = [...texts].filter(([, text]) => lineAt(text.trimEnd()) > LINES_MAX);
    assert.deepEqual(names(long), GENERATED);
  });

  describe('of under 80 lines with one importer, in the same folder, are part of it:', () => {
    const listed = readFileSync(SPLINTERS_FILE, 'utf8').split('\n').filter(Boolean);
    const splinters = splintersOf(new Map(sources));
    const isListed = new Set(listed);

    test('there is no such splinter beyond those in checks/splinters.txt', () => {
      const others = [...splinters].filter(([file]) => !isListed.has(file));
      assert.deepEqual(
        others.map(([file, importer]) => `${file} is a part of ${importer}`),
        [],
      );
    });

    test('that list only shrinks (./run.sh lines --shrink)', () => {
      const merged = listed.filter((file) => !splinters.has(file));
      assert.deepEqual(merged, []);
    });
  });

  test('match every pattern in the list of slow tests, with each alternative in its braces', () => {
    const found = (pattern: string): number => globSync(pattern, { cwd: ROOT }).length;
    assert.deepEqual(
      SLOW.flatMap(expanded).filter((pattern) => found(pattern) === 0),
      [],
    );
  });

  test('wrap their comments at 100 columns, except pictures and tables', () => {
    const prose = /^ *(?:\*|\/\*\*?|\/\/) {0,3}\S.{0,200}$/;
    const wide = sources.flatMap(([file, text]) =>
      text
        .split('\n')
        .flatMap((line, i) =>
          line.length > COLUMNS_MAX && prose.test(line) ? [`${file}:${i + 1}`] : [],
        ),
    );
    assert.deepEqual(wide, []);
  });

  test('hold no note of unfinished work except a to-do with a reason', () => {
    const note = /\b(?:[F]IXME|[X]XX)\b|\b[T]ODO\b(?!: \w+ \w+ \w+)/; // Does not find itself.
    assert.deepEqual(names([...texts].filter(([, text]) => note.test(text))), []);
  });

  test('use plain words', () => {
    const spoken = [...texts].filter(([file]) => /\.(?:ts|md|sh|css|sql|c|tla)$/.test(file));
    const found = spoken.flatMap(([file, text]) => {
      const plain = plainOf(file, text);
      return [...plain.matchAll(VAGUE)].map(
        ({ 0: words, index }) => `${file}:${lineAt(plain.slice(0, index))}: ${words}`,
      );
    });
    assert.deepEqual(found, []);
  });

  test('name no host of a registry, and no folder of a particular machine', () => {
    const host = /\bregistry\.[a-z]|"resolved"\s*:/;
    const folder = /(?<![\w.~-])\/(?:work|root|home|tmp|Users)\//;
    const naming = [...texts].filter(
      ([file, text]) => host.test(text) || (!file.endsWith('.test.ts') && folder.test(text)),
    );
    assert.deepEqual(names(naming), []);
  });
});

describe('the documentation', () => {
  for (const [file, text] of texts) {
    if (!file.endsWith('.md')) continue;
    test(`of ${file} has only valid links`, () => {
      const dead = linksOf(text).filter((link) => !leadsSomewhere(file, link));
      assert.deepEqual(dead, []);
    });
  }

  test('has each page of docs/ in its list, docs/README.md', () => {
    const pages = files.filter((file) => /^docs\/(?!README)[\w-]+\.md$/.test(file));
    const links = linksOf(read('docs/README.md')).map((link) => path.join('docs', link));
    const listed = new Set(links);
    assert.ok(pages.length > 20);
    assert.deepEqual(
      pages.filter((page) => !listed.has(page)),
      [],
    );
  });

  test('is cited by the same version, license, abstract and words everywhere', () => {
    const { version, license, keywords, author } = packageJson;
    const cited = read('CITATION.cff');
    const zenodo = JSON.parse(read('.zenodo.json')) as Readonly<Record<string, unknown>>;
    const fields = new Map(
      [...cited.matchAll(/^([\w-]+): (.+)$/gm)].map(([, name = '', value]) => [name, value]),
    );
    assert.deepEqual([fields.get('version'), fields.get('license')], [version, license]);
    assert.deepEqual([zenodo['version'], zenodo['license']], [version, license]);
    assert.deepEqual(zenodo['creators'], [{ name: author }]);
    assert.equal(zenodo['publication_date'], fields.get('date-released'));
    assert.deepEqual(zenodo['keywords'], keywords);
    assert.deepEqual(
      [...(/^keywords:\n((?: .*\n)+)/m.exec(cited)?.[1] ?? '').matchAll(/- (.*)/g)].map(
        ([, word]) => word,
      ),
      keywords,
    );
    const [, abstract = '?'] = /^abstract: >-\n +(.*)/m.exec(cited) ?? [];
    assert.ok(String(zenodo['description']).startsWith(abstract));
  });

  test('explains every error code, and which of them may be retried', () => {
    const [, union = ''] =
      /export type ErrorCode =([^;]*);/.exec(codeOf('engine/base/errors.ts')) ?? [];
    const codes = [...union.matchAll(/'([A-Z_]+)'/g)].map(([, code]) => code as ErrorCode);
    const rows = [...read('docs/library.md').matchAll(/^\| `([A-Z_]+)` +\| (yes|no) /gm)];
    const documented = rows.map(([, code, retry]) => `${code} ${retry}`);
    const actual = codes.map(
      (code) => `${code} ${isRetryable(new PercolatorError(code, '')) ? 'yes' : 'no'}`,
    );
    assert.ok(codes.length > 0);
    assert.deepEqual(documented.toSorted(), actual.toSorted());
  });

  test('shows the layers that the linter enforces', () => {
    const config = read('oxlint.config.ts');
    const table = ['layers', 'rooms']
      .map((name) => new RegExp(`const ${name}[^{]*\\{([^}]*)\\}`).exec(config)?.[1] ?? '')
      .join('\n');
    const enforced = [...table.matchAll(/^ *'?([\w-]+)'?: \[([^\]]*)\]/gm)].map(
      ([, layer, allowed = '']) =>
        `${layer}: ${(allowed.match(/[\w-]+/g) ?? ['nothing']).join(', ')}`,
    );
    const rows = [...read('ARCHITECTURE.md').matchAll(/^\| `([\w-]+)` +\| ([\w, -]+?) +\|$/gm)];
    assert.ok(enforced.length > 0);
    assert.deepEqual(
      rows.map(([, layer, allowed]) => `${layer}: ${allowed}`),
      enforced,
    );
  });

  test('describes every rule of the protocol that the code cites', () => {
    const rules = read('engine/protocol.md');
    // The literature numbers anomalies in the same way, and these files use its numbers.
    const ours = sources.filter(([file]) => !/\/anomalies(?:\.test)?\.ts$/.test(file));
    const cited = ours.flatMap(([, text]) => text.match(/\bP\d{1,2}\b/g) ?? []);
    const unknown = cited.filter((rule) => !rules.includes(`- **${rule}.**`));
    assert.deepEqual([...new Set(unknown)], []);
  });

  test('names scripts that exist', () => {
    for (const [file, text] of texts) {
      if (file.endsWith('.test.ts')) continue; // Tests also name some that do not exist.
      for (const [, script = ''] of text.matchAll(/(?:npm run|\.\/run\.sh) ([a-z][\w:-]*)/g)) {
        assert.ok(script in packageJson.scripts, `${file}: ${script}`);
      }
    }
  });
});

describe('a script that a user runs', () => {
  test('explains itself, and refuses an option that it does not have', async () => {
    const scripts = Object.entries(packageJson.scripts).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const programs = scripts.flatMap(([script, command]) => {
      const program = /^node (\S+\.ts)$/.exec(command)?.[1];
      return program === undefined ? [] : [[script, path.join(ROOT, program)] as const];
    });
    const each = (word: string) => programs.map(([, program]) => ({ program, words: [word] }));
    const ended = await runInTurn([...each('--help'), ...each('--no-such-option')]);
    for (const [i, [script]] of programs.entries()) {
      const [help, wrong] = [ended[i], ended[programs.length + i]];
      assert.ok(help !== undefined && wrong !== undefined);
      assert.equal(help.exitCode, 0, help.stderr);
      const usage = script === 'percolator' ? 'percolator <command>' : `\\./run\\.sh ${script}`;
      assert.match(help.stdout, new RegExp(`^Usage: ${usage} \\[options\\]`));
      assert.equal(wrong.exitCode, 2, script);
      assert.match(wrong.stderr, /^.*--no-such-option.*$/, script); // One line, which names it.
    }
    const helps = programs.map(([script], i) => ({ script, help: ended[i]?.stdout ?? '' }));
    const isSame = read('docs/options.md') === optionsPage(helps);
    assert.ok(isSame, 'docs/options.md is out of date: ./run.sh options');
    const helpOf = (of: string) =>
      Promise.resolve(helps.find(({ script }) => script === of)?.help ?? '');
    // The formatter pads the cells of tables.
    const squeezed = (text: string): string =>
      text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '-');
    const isCurrent = squeezed(read('ARTIFACT.md')) === squeezed(await artifactPage(helpOf));
    assert.ok(isCurrent, 'ARTIFACT.md is out of date: ./run.sh artifact');
  });
});

/** One pattern for each choice among the alternatives in the braces of a pattern. */
function expanded(pattern: string): readonly string[] {
  const [braces, alternatives] = /\{([^{}]*)\}/.exec(pattern) ?? [];
  if (braces === undefined || alternatives === undefined) return [pattern];
  return alternatives.split(',').flatMap((one) => expanded(pattern.replace(braces, one)));
}

/**
 * Where the links and pictures of a document lead, inline, by a definition or in HTML, except those
 * to other sites.
 */
function linksOf(text: string): readonly string[] {
  const links = proseOf(text).matchAll(
    /(?:\]\(|^ {0,3}\[[^\]]+\]: +|\bsrc(?:set)?=")(?!https?:)([^)"\s]+)/gm,
  );
  return [...links].map(([, link = '']) => link);
}

/** Whether the file of a link exists, and has the heading that the link names. */
function leadsSomewhere(from: string, link: string): boolean {
  const [target = '', heading] = link.split('#');
  const file = target === '' ? from : path.join(path.dirname(from), target);
  if (!existsSync(path.join(ROOT, file))) return false;
  return heading === undefined || headingsOf(read(file)).includes(heading);
}

/** The headings of a document, as GitHub writes them in links. */
function headingsOf(text: string): readonly string[] {
  return [...proseOf(text).matchAll(/^#+ +(.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** A document without its blocks of code, in which `#` begins a comment. */
function proseOf(text: string): string {
  return text.replaceAll(/^ *```[^]*?^ *```$/gm, '');
}

/** The number of a text's last line. */
function lineAt(text: string): number {
  return text.split('\n').length;
}

/** A text without its quotations. */
function plainOf(file: string, text: string): string {
  return (QUOTATIONS.get(file) ?? []).reduce(
    (rest, quotation) => rest.replace(quotation, ''),
    text,
  );
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** A file without its comments, in which a semicolon or a quote means nothing. */
function codeOf(file: string): string {
  return read(file).replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, '');
}

function names(entries: readonly (readonly [string, string])[]): readonly string[] {
  return entries.map(([file]) => file);
}

function firstFolder(file: string): string {
  return file.slice(0, file.indexOf('/'));
}
