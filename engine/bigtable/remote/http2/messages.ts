/**
 * Encodes and decodes gRPC messages on the wire: one byte for the compression, four for the length,
 * then the message.
 *
 * A message may come in several pieces, and a piece may hold several messages: HTTP/2 may cut
 * anywhere.
 */
const PREFIX_BYTES = 5;
const NONE: readonly Buffer[] = [];

export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

export class MessageReader {
  /** Pieces of an incomplete message. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Bytes of the incomplete message, with its prefix; 0 until the prefix has been read. */
  #wanted = 0;

  /** Whether there is no incomplete message. */
  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  /**
   * The messages that this piece completes. They are views of the pieces, not copies.
   * @throws if a message is compressed, since we never offer compression
   */
  push(piece: Buffer): readonly Buffer[] {
    if (piece.length === 0) return NONE;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes < Math.max(this.#wanted, PREFIX_BYTES)) return NONE;
    // Joined only when a message is complete: joining at every piece would copy a large one
    // repeatedly.
    return this.#cut(this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces));
  }

  #cut(bytes: Buffer): readonly Buffer[] {
    const messages: Buffer[] = [];
    let at = 0;
    this.#wanted = 0;
    while (bytes.length - at >= PREFIX_BYTES) {
      if (bytes[at] !== 0) throw new Error('a message is compressed');
      const end = at + PREFIX_BYTES + bytes.readUInt32BE(at + 1);
      if (end > bytes.length) {
        this.#wanted = end - at;
        break;
      }
      messages.push(bytes.subarray(at + PREFIX_BYTES, end));
      at = end;
    }
    const rest = bytes.subarray(at);
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    return messages;
  }
}
