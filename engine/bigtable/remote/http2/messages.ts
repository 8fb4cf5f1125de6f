/**
 * gRPC's messages on the wire: one byte that says whether it is compressed, four of length, then the message.
 *
 * A message may come in several pieces, and a piece may hold several messages: HTTP/2 cuts where it likes.
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
  /** Pieces that do not make a message yet. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Bytes, with its prefix, of the message that is coming; 0 as long as that has not been read. */
  #wanted = 0;

  /** Whether no message has begun that is not complete. */
  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  /**
   * The messages that are complete with this piece. They are views of the pieces, not copies.
   * @throws if a message is compressed, which we have never offered to understand
   */
  push(piece: Buffer): readonly Buffer[] {
    if (piece.length === 0) return NONE;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes < Math.max(this.#wanted, PREFIX_BYTES)) return NONE;
    // Joined only when a message is complete: joining at every piece would copy a large one again and again.
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
