/** What `./run.sh artifact` writes from the reference runs and from the parser of records. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { findRuns, RECORD_FILE, RECORD_SCHEMA, REFERENCE_FOLDER } from '#results';
import { ROOT } from '../../harness/hosts/code-version.ts';
import { columnsPage } from './columns-page.ts';

const validate = new Ajv({ strict: false }).compile(RECORD_SCHEMA);
const all = findRuns(REFERENCE_FOLDER).map(
  ({ folder }) =>
    JSON.parse(readFileSync(path.join(folder, RECORD_FILE), 'utf8')) as Readonly<
      Record<string, unknown>
    >,
);
/** Without the oldest of figure 7, which have another shape (figure-7/old-record.ts). */
const records = all.filter(({ findings }) => findings !== null);

test('docs/run.schema.json is that of the parser', () => {
  const file = path.join(ROOT, 'docs/run.schema.json');
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), RECORD_SCHEMA, './run.sh artifact');
});

test('the schema accepts every reference run, and refuses what the parser refuses', () => {
  assert.ok(records.length > 20);
  for (const record of records) {
    assert.ok(validate(record), JSON.stringify(validate.errors));
  }
  const [record] = records;
  for (const wrong of [{ state: 'paused' }, { repeats: -1 }, { findings: undefined }]) {
    const changed = JSON.parse(JSON.stringify({ ...record, ...wrong })) as unknown;
    assert.ok(!validate(changed), JSON.stringify(wrong));
  }
});

test('docs/columns.md has the columns of the reference runs', () => {
  // The formatter pads the cells of tables.
  const squeezed = (text: string): string =>
    text.replaceAll(/[ \n]+/g, ' ').replaceAll(/-{3,}/g, '-');
  const page = squeezed(readFileSync(path.join(ROOT, 'docs/columns.md'), 'utf8'));
  assert.ok(page === squeezed(columnsPage()), 'docs/columns.md is out of date: ./run.sh artifact');
  const tables = readdirSync(path.join(REFERENCE_FOLDER, 'figure-8'));
  for (const file of tables.filter((name) => name.endsWith('.csv'))) assert.ok(page.includes(file));
});
