/** Excerpts: where a long text is cut, and that no passage of one text is shown for another. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Excerpts } from './excerpts.ts';
import type { MarkedText } from './serving-index.ts';

/** Hits in brackets. */
function shown(text: MarkedText): string {
  return text.map((piece) => (piece.isHit ? `[${piece.text}]` : piece.text)).join('');
}

test('the last passage of the looked-at part says that the text goes on, and cuts no word', () => {
  using excerpts = new Excerpts();
  for (const before of [149_900, 149_997]) {
    const text = `${'a '.repeat(before / 2)}needle ${'b '.repeat(500)}`;
    const passage = shown(excerpts.best(text, '"needle"'));
    assert.match(passage, /^….*\[needle\].*…$/, `at ${before}`);
  }
});

test('a text that ends where the looked-at part ends is shown to its end', () => {
  using excerpts = new Excerpts();
  const text = `${'a '.repeat(74_990)}needle`;
  assert.match(shown(excerpts.best(text, '"needle"')), /^….* \[needle\]$/);
});

test('after an expression that FTS5 refuses, no passage of that text is left for the next one', () => {
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
