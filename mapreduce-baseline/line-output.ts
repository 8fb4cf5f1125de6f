/**
 * Records as lines: `key`, tab, `value`, newline. The tab is left out if the value is empty, unless
 * the lines are to be sorted: without the tab, sorting would not bring all lines of a key together.
 *
 * Lines are gathered and written in large pieces, to a part of the output or to a pipe.
 */
import { ByteBuilder, type Slice } from './bytes.ts';
import type { Output } from './job.ts';
import { writeFully } from './write-fully.ts';

const TAB = 0x09;
const NEWLINE = 0x0a;
const PIECE_BYTES = 256 * 1024;

export class LineOutput implements Output {
  records = 0;
  bytes = 0;
  readonly #file: number;
  readonly #isSorted: boolean;
  readonly #lines = new ByteBuilder(PIECE_BYTES + 4096);

  /**
   * @param file an open file descriptor; its opener closes it
   * @param isSorted whether the lines are sorted afterwards
   */
  constructor(file: number, { isSorted = false }: { readonly isSorted?: boolean } = {}) {
    this.#file = file;
    this.#isSorted = isSorted;
  }

  emit(key: Slice, value: Slice): void {
    const lines = this.#lines;
    lines.appendSlice(key);
    if (this.#isSorted || value.end > value.start) {
      lines.appendByte(TAB);
      lines.appendSlice(value);
    }
    lines.appendByte(NEWLINE);
    this.records++;
    if (lines.length >= PIECE_BYTES) this.flush();
  }

  flush(): void {
    writeFully(this.#file, this.#lines.bytes, this.#lines.length);
    this.bytes += this.#lines.length;
    this.#lines.clear();
  }
}
