/** Frames are read whole wherever the chunks of a socket end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Frames } from './frames.ts';

test('frames are read whole, whatever chunks they come in', () => {
  const texts = ['a', '', 'bcd', 'e'.repeat(9), 'f'];
  const bytes = Buffer.concat(texts.map(framed));
  for (let first = 1; first <= bytes.length; first++) {
    for (let size = 1; size <= bytes.length; size++) {
      const frames = new Frames();
      const found: string[] = [];
      // Two frames and a part of the next one may come in one chunk.
      for (let at = 0; at < bytes.length; at += at === 0 ? first : size) {
        const chunk = bytes.subarray(at, at + (at === 0 ? first : size));
        for (const frame of frames.add(chunk)) found.push(frame.toString());
      }
      assert.deepEqual(found, texts, `a chunk of ${first} bytes, then of ${size}`);
    }
  }
});

function framed(text: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, Buffer.from(text)]);
}
