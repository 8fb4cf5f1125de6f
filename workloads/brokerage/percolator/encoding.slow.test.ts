/** Equal texts become one frozen object; different texts become different objects. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeRow, ParsedOnce } from './encoding.ts';

/** Counts how many texts were parsed. */
function counting(most: number): { readonly parsed: ParsedOnce<{ text: string }>; parses: number } {
  const counted = {
    parses: 0,
    parsed: new ParsedOnce((text) => {
      counted.parses++;
      return { text };
    }, most),
  };
  return counted;
}

test('a text is parsed once, and another text is another object', () => {
  const counted = counting(10);
  const first = counted.parsed.of('a');
  assert.equal(counted.parsed.of('a'), first);
  assert.deepEqual(counted.parsed.of('b'), { text: 'b' });
  assert.equal(counted.parses, 2);
});

test('no reader can change an object that several readers share', () => {
  const { parsed } = counting(10);
  assert.throws(() => {
    parsed.of('a').text = 'b';
  }, TypeError);
});

test('the cache holds no more texts than its limit', () => {
  const counted = counting(2);
  for (const text of ['a', 'b', 'c', 'a']) assert.equal(counted.parsed.of(text).text, text);
  assert.equal(counted.parses, 4);
});

test('rows of two tables that have the same bytes are two rows', () => {
  const bytes = Buffer.from('["EX1","an exchange"]');
  const exchange = decodeRow('exchange', bytes);
  const tradeType = decodeRow('trade_type', bytes);
  assert.equal(exchange.ex_id, 'EX1');
  assert.equal(tradeType.tt_id, 'EX1');
  assert.equal(decodeRow('exchange', bytes).ex_id, 'EX1');
});
