/** Excerpts: where a long text is cut, and that no passage of one text is shown for another. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Excerpts } from './excerpts.ts';
import type { MarkedText } from './serving-index.ts';

/** Hits in brackets. */
function shown(text: MarkedText): string {
  return text.map((piece) => (piece.isHit ? `[${piece.text}]` : piece.text)).join('');
}

/** Passages come from the first 150,000 characters (LOOKED_AT_CHARACTERS in excerpts.ts). */
test('the last passage of the looked-at part says that the text goes on, and cuts no word', () => {
  using excerpts = new Excerpts();
  for (const before of [149_900, 149_997]) {
    const text = `${'a '.repeat(before / 2)}needle ${'b '.repeat(500)}`;
    const passage = shown(excerpts.best(text, '"needle"'));
    assert.match(passage, /^….*\[needle\].*…$/, `at ${before}`);
  }
});

test('a text that ends just before the end of the looked-at part is shown to its end', () => {
  using excerpts = new Excerpts();
  const text = `${'a '.repeat(74_990)}needle`;
  assert.match(shown(excerpts.best(text, '"needle"')), /^….* \[needle\]$/);
});

test('after FTS5 has refused an expression, no passage of its text is shown for the next text', () => {
  using excerpts = new Excerpts();
  assert.throws(() => excerpts.best('one secret', 'AND'));
  assert.equal(shown(excerpts.best('another text', '"secret"')), 'another text');
  assert.throws(() => excerpts.beginning('one secret', 100, 'AND'));
  assert.equal(shown(excerpts.beginning('another text', 100, '"secret"')), 'another text');
});

test('a text without spaces is cut between characters, however long it is', () => {
  using excerpts = new Excerpts();
  const passage = shown(excerpts.best('\u{1F600}'.repeat(500_000), '"needle"'));
  assert.ok(passage.isWellFormed() && passage.length < 300, passage.slice(-20));
});
