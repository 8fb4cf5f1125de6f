/** The sections that every page has: what they say of unusual records. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { findingsContent } from '../report.ts';
import type { RunRecord } from '../run-record.ts';
import { SAMPLE_FINDINGS } from '../testing/sample-findings.ts';
import { createSampleRun } from '../testing/sample-run.ts';
import { html } from './html.ts';
import {
  doubtsOf,
  limitations,
  runChips,
  runPage,
  runSection,
  targetsSection,
} from './run-page.ts';

const { record } = createSampleRun(temporaryFolder());

describe('targets', () => {
  test('of which none was judged are not counted as 0 of 0', () => {
    const targets = record.targets.map((target) => ({ ...target, met: null, reason: 'too small' }));
    assert.match(targetsSection({ ...record, targets }).text, /<h2>Targets: none judged<\/h2>/);
  });
});

test('a proof is no measurement, so it is not called exploratory', () => {
  const proof: RunRecord = {
    ...record,
    label: 'exploratory',
    repeats: 1,
    findings: { ...SAMPLE_FINDINGS, kind: 'proof' },
  };
  assert.doesNotMatch([...limitations(proof), ...runChips(proof)].join(), /exploratory/);
});

describe('a doubtful run', () => {
  const { environment } = record;
  const busy = 'The machine was busy with other work when the run began (load 0.8 per core).';
  const [sample] = record.targets;
  const clean: RunRecord = {
    ...record,
    doubts: [],
    environment: { ...environment, commit: { hash: 'abc', dirty: false } },
  };

  test('says so before its first chart, and one without doubts says nothing', () => {
    const content = findingsContent(SAMPLE_FINDINGS, 'finished');
    const page = runPage({ ...clean, doubts: ['The clock was set.'] }, content);
    const at = page.indexOf('<h2>Doubtful</h2>');
    assert.ok(at > 0 && at < page.indexOf('<canvas') && page.includes('The clock was set.'));
    assert.ok(!runPage(clean, content).includes('<h2>Doubtful</h2>'));
  });

  test('has other code than its commit, or disagrees with itself', () => {
    assert.deepEqual(doubtsOf(clean), []);
    const commit = { hash: 'abc', dirty: true };
    assert.match(
      doubtsOf({ ...clean, environment: { ...environment, commit } }).join(),
      /differed/,
    );
    assert.ok(sample !== undefined);
    const again = { ...sample, name: 'emulator, reads, measured again', met: false };
    assert.match(
      doubtsOf({ ...clean, targets: [again] }).join(),
      /^The run disagrees with itself: emulator, reads was .* a second time\.$/,
    );
    assert.deepEqual(doubtsOf({ ...clean, targets: [{ ...again, met: true }] }), []);
  });

  test('of an older record has its doubt among its limitations, and shows it once', () => {
    const old: RunRecord = { ...clean, doubts: null, limitations: [busy, 'One machine.'] };
    assert.deepEqual(doubtsOf(old), [busy]);
    assert.ok(!limitations(old).includes(busy) && limitations(old).includes('One machine.'));
  });
});

describe('the record', () => {
  const sectionOf = (changes: Partial<RunRecord>): string =>
    runSection({ ...record, ...changes }, html``).text;

  test('says that there is no seed, and what the store survives in a sentence', () => {
    const store = { name: 'files', durability: 'both sync' };
    const text = sectionOf({ seed: 0, store });
    assert.match(text, /<dt>Seed<\/dt>\s*<dd>none<\/dd>/);
    assert.match(text, /<dd>files\. Both sync\.<\/dd>/);
  });

  test('tells the seed 0 from a run without a seed', () => {
    const text = sectionOf({ seed: 0, parameters: { seed: 0 } });
    assert.match(text, /<dt>Seed<\/dt>\s*<dd>0<\/dd>/);
  });

  const chipsOf = (name: string, repeats = record.repeats): readonly string[] =>
    runChips({ ...record, repeats, store: { ...record.store, name } });

  test('names one store as such, and several systems by their names alone', () => {
    assert.ok(chipsOf('embedded').includes('store: embedded'));
    assert.ok(chipsOf('embedded, functions').includes('embedded, functions'));
  });

  test('of one repeat is called exploratory, unless it is of a simulation', () => {
    assert.ok(chipsOf('embedded', 1).join(', ').includes('exploratory'));
    const simulated = chipsOf('virtual', 1).join(', ');
    assert.ok(!/core|exploratory/.test(simulated), 'this machine decides nothing in a simulation');
  });
});

test('only a figure or section of the paper is linked as a place in the paper', () => {
  const pageOf = (kicker: string): string =>
    runPage(record, {
      kicker,
      title: 'A title',
      headline: 'A finding.',
      opening: html``,
      charts: [],
      tables: [],
      files: [],
    });
  assert.match(pageOf('Percolator paper, section 2.4'), />In the paper: section 2\.4</);
  assert.match(pageOf('The remote store'), />The Percolator paper</);
});
