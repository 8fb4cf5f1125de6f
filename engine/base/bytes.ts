/** A view of existing bytes as a Buffer. */

/**
 * Shares the memory; `Buffer.from(bytes)` would copy it. For decoding: do not change the bytes.
 */
export function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
