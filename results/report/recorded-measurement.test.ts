/**
 * However a run ends, its record says how, and holds what was found until then. Only a run that
 * could not begin leaves no record.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../../engine/testing/temporary-folder.ts';
import { readRunRecord } from './record-file.ts';
import type { FindingsParts } from './columns-and-series.ts';
import { recordRun } from './run-in-progress.ts';
import { UsageError } from './usage-error.ts';

const TABLE = { name: 't', title: 'T', caption: 'C', columns: ['a'], rows: [[1]] };

const FOUND: FindingsParts = {
  headline: 'Ten rows.',
  check: { passed: true, detail: 'all is there' },
  tables: [TABLE],
  charts: [],
  targets: [],
};

describe('the record of a run', () => {
  test('that finished has its findings under its subject', async () => {
    const { folder } = await record(async () => FOUND);
    const { state, findings } = readRunRecord(folder);
    assert.deepEqual([state, findings.title, findings.headline], ['finished', 'Rows', 'Ten rows.']);
  });

  test('that was interrupted keeps what was found until then, and is no error', async () => {
    const { folder, page } = await record(async ({ keep }, interrupt) => {
      keep(FOUND);
      interrupt();
      throw new Error('a process was cancelled');
    });
    assert.deepEqual(endOf(folder), ['interrupted', true, 1]);
    assert.ok(existsSync(page));
  });

  test('that was interrupted before it had found anything has no numbers', async () => {
    const { folder } = await record(async (_, interrupt) => {
      interrupt();
      throw new Error('a process was cancelled');
    });
    assert.deepEqual(endOf(folder), ['interrupted', false, 0]);
  });

  test('that was interrupted keeps what was found, even if the error is one for the user', async () => {
    const folder = path.join(temporaryFolder(), 'run');
    const interrupted = record(async ({ keep }, interrupt) => {
      keep(FOUND);
      interrupt();
      throw new UsageError('The emulator has gone.');
    }, folder);
    await assert.rejects(interrupted, UsageError);
    assert.deepEqual(endOf(folder), ['interrupted', true, 1]);
  });

  test('that an error ended says so, and keeps what was found', async () => {
    const folder = path.join(temporaryFolder(), 'run');
    const failing = record(async ({ keep }) => {
      keep(FOUND);
      throw new Error('boom');
    }, folder);
    await assert.rejects(failing, /boom/);
    assert.deepEqual(endOf(folder), ['failed', true, 1]);
  });

  test('that found something that cannot be recorded has failed, and keeps what was found before', async () => {
    const folder = path.join(temporaryFolder(), 'run');
    const failing = record(async ({ keep }) => {
      keep(FOUND);
      return { ...FOUND, tables: [{ ...TABLE, name: '../t' }] };
    }, folder);
    await assert.rejects(failing, /name must be the name of a file/);
    assert.deepEqual(endOf(folder), ['failed', true, 1]);
  });

  test('that could not begin reports why, even if its folder cannot be removed', async () => {
    const folder = temporaryFolder();
    const refuse = async (): Promise<never> => {
      throw new UsageError('There is no emulator.');
    };
    await assert.rejects(record(refuse, `${folder}/.`), UsageError);
    assert.deepEqual(readdirSync(folder), []);
  });

  test('that could not begin is removed, with its folder unless that has other files', async () => {
    const refuse = async (): Promise<never> => {
      throw new UsageError('There is no emulator.');
    };
    const folder = path.join(temporaryFolder(), 'run');
    await assert.rejects(record(refuse, folder), UsageError);
    assert.ok(!existsSync(folder));
    const writing = record(async () => {
      writeFileSync(path.join(folder, 'mine'), '');
      return refuse();
    }, folder);
    await assert.rejects(writing, UsageError);
    assert.deepEqual(readdirSync(folder), ['mine']);
  });

  test('that could not begin is removed, although its clean-up failed, too', async () => {
    const folder = path.join(temporaryFolder(), 'run');
    const refused = new SuppressedError(
      new Error('the store was not closed'),
      new UsageError('There is no emulator.'),
    );
    await assert.rejects(
      record(() => Promise.reject(refused), folder),
      refused,
    );
    assert.ok(!existsSync(folder));
  });
});

type Measure = Parameters<typeof recordRun>[2];
type Interruptible = (
  recording: Parameters<Measure>[0],
  interrupt: () => void,
) => ReturnType<Measure>;

async function record(
  measure: Interruptible,
  folder = path.join(temporaryFolder(), 'run'),
): Promise<{ readonly folder: string; readonly page: string }> {
  const interrupted = new AbortController();
  const header = {
    experiment: 'rows',
    profile: 'quick',
    commandLine: './run.sh bench:rows',
    parameters: {},
    seed: 1,
    repeats: 1,
    store: { name: 'none', durability: 'nothing is stored' },
    subject: { kicker: 'A test', title: 'Rows' },
    signal: interrupted.signal,
  } as const;
  const { page } = await recordRun(folder, header, (recording) =>
    measure(recording, () => interrupted.abort()),
  );
  return { folder, page };
}

function endOf(folder: string): unknown {
  const { state, findings } = readRunRecord(folder);
  return [state, findings.check.passed, findings.tables.length];
}
