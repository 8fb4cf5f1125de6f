/** Claims about the encoded forms: any bytes are read back as written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  decodeDocument,
  decodeKeys,
  decodeRecord,
  decodeRecordKeys,
  documentId,
  encodeDocument,
  encodeRecord,
  type Document,
} from './index.ts';

const field = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\t\n\r]/gu, '_'));
/**
 * Half of the bytes need escaping or are letters of escapes: uniform bytes would hardly ever
 * contain two such bytes in a row.
 */
const byte = fc.oneof(fc.nat(255), fc.constantFrom(0x09, 0x0a, 0x0d, 0x5c, 0x6e, 0x72, 0x74));
const documents: fc.Arbitrary<Document> = fc
  .tuple(fc.nat(), field, fc.tuple(field, field, field), fc.array(byte))
  .map(([arrival, url, keys, bytes]) => {
    return { id: documentId(arrival), url, keys, contents: Uint8Array.from(bytes) };
  });

/** Contents as plain bytes, so that Buffer and Uint8Array compare equal. */
function plain(document: Document): Document {
  return { ...document, contents: Uint8Array.from(document.contents) };
}

test('any document survives its record form', () => {
  fc.assert(
    fc.property(documents, (document) => {
      const record = encodeRecord(document);
      assert.deepEqual(plain(decodeRecord(record)), document);
      assert.deepEqual(plain(decodeRecord(record.subarray(0, -1))), document);
      assert.deepEqual(decodeRecordKeys(record), { id: document.id, keys: document.keys });
    }),
  );
});

test('a record is one line, whatever the contents hold', () => {
  fc.assert(
    fc.property(documents, (document) => {
      const record = encodeRecord(document);
      assert.equal(record.indexOf('\n'), record.length - 1);
      assert.equal(record.indexOf('\r'), -1);
      assert.equal(record.filter((value) => value === 0x09).length, 5);
    }),
  );
});

test('any document survives its cell value form', () => {
  fc.assert(
    fc.property(documents, (document) => {
      const value = encodeDocument(document);
      assert.deepEqual(plain(decodeDocument(document.id, value)), document);
      assert.deepEqual(decodeKeys(value), document.keys);
    }),
  );
});

test('the keys of a cell value can be read when the contents are missing', () => {
  const document = {
    id: documentId(1),
    url: 'u',
    keys: ['a', 'b', 'c'],
    contents: Buffer.alloc(99),
  } as const;
  assert.deepEqual(decodeKeys(encodeDocument(document).subarray(0, 9)), ['a', 'b', 'c']);
});

test('decoded contents share the memory of the cell value', () => {
  const value = encodeDocument({
    id: 'x',
    url: 'u',
    keys: ['a', 'b', 'c'],
    contents: Buffer.from('abc'),
  });
  const { contents } = decodeDocument('x', value);
  // To compare the `.buffer`s proves nothing: Node puts small copies into one, too.
  value.write('z', value.length - 1);
  assert.equal(Buffer.from(contents).toString(), 'abz');
});

test('a field with a tab or a line end is refused, because it would make another record', () => {
  const document: Document = {
    id: 'x',
    url: 'u',
    keys: ['a', 'b', 'c'],
    contents: Buffer.alloc(0),
  };
  assert.throws(() => encodeRecord({ ...document, url: 'a\tb' }), RangeError);
  assert.throws(() => encodeRecord({ ...document, keys: ['a', 'b\n', 'c'] }), RangeError);
});

test('a line that is not a record is refused', () => {
  assert.throws(() => decodeRecord(Buffer.from('only\ttwo')), RangeError);
  assert.throws(() => decodeRecord(Buffer.from('i\ta\tb\tc\tu\tends with \\\n')), RangeError);
});

test('the order of ids is the order of arrival', () => {
  const arrivals = [0, 9, 10, 99, 1234, 5_000_000_000];
  assert.deepEqual(arrivals.map(documentId).toSorted(), arrivals.map(documentId));
  assert.equal(documentId(1234), '0000001234');
});
