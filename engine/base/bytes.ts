/** Bytes that are already there, seen as a Buffer. */

/** The same memory; `Buffer.from` would copy it. For decoding: who keeps it must not change it. */
export function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
