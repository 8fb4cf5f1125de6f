/** Frames arrive in any pieces, and are copied only if they must be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setRow } from '../../../testing/small-rows.ts';
import type { RowMutation } from '../../bigtable.ts';
import { type Frame, FrameReader, FrameWriter, type Request } from './messages.ts';

test('frames are read whole wherever the chunks end', () => {
  const bytes = Buffer.concat([frameOf('a'), frameOf('bb'), frameOf('')]);
  for (let size = 1; size <= bytes.length; size++) {
    const reader = new FrameReader();
    const values: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      for (const frame of reader.add(bytes.subarray(at, at + size))) {
        values.push(valueOf(frame).toString());
      }
    }
    assert.deepEqual(values, ['a', 'bb', ''], `chunks of ${size} bytes`);
  }
});

test('a frame that arrives as one chunk is not copied, neither the first nor a later one', () => {
  const reader = new FrameReader();
  for (const which of ['first', 'later']) {
    const chunk = frameOf('x'.repeat(100_000)); // Small buffers share their memory.
    const frames = [...reader.add(chunk)];
    assert.deepEqual(
      frames.map((frame) => valueOf(frame).buffer === chunk.buffer),
      [true],
      which,
    );
  }
});

/** A frame with one request, which sets a cell to the text. */
function frameOf(text: string): Buffer {
  const writer = new FrameWriter();
  writer.addRequest([0, 'mutateRows', 0, [[setRow('r', text)]]]);
  return writer.take();
}

/** The value that the request of the frame sets. */
function valueOf(frame: Frame): Buffer {
  const [, method, , sent] = frame.messages[0] as Request;
  const [rows] = frame.given(method, sent) as [readonly RowMutation[]];
  const mutation = rows[0]?.mutations[0];
  assert.ok(mutation?.kind === 'set');
  return mutation.value as Buffer;
}
