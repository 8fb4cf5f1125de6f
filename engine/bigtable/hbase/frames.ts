/** Cuts what a socket delivers into frames, each of which begins with its length in four bytes. */
const LENGTH_BYTES = 4;
/** Answers are far smaller; a larger length means that the other side speaks something else. */
const FRAME_BYTES_MAX = 1 << 30;

export class Frames {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** How many bytes must be there before another frame can be complete. */
  #needed = LENGTH_BYTES;

  /** The frames that are now complete. */
  add(chunk: Buffer): readonly Buffer[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#needed) return [];
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    const frames: Buffer[] = [];
    for (;;) {
      this.#needed = LENGTH_BYTES;
      if (rest.length < LENGTH_BYTES) break;
      const length = rest.readUInt32BE(0);
      if (length > FRAME_BYTES_MAX) {
        throw new Error('the server does not speak the protocol of HBase');
      }
      this.#needed = LENGTH_BYTES + length;
      if (rest.length < this.#needed) break;
      frames.push(rest.subarray(LENGTH_BYTES, this.#needed));
      rest = rest.subarray(this.#needed);
    }
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    return frames;
  }
}
