/**
 * What the engine uses of Node, Deno or Bun if it runs there, and does without in a browser. The
 * core imports no module of Node, so that a bundler can make a page of it.
 *
 * Bytes and texts use Node's `Buffer` where there is one: for values as short as locks and write
 * records it is several times as fast as what browsers have. There, the same functions use that.
 */

interface Host {
  getBuiltinModule?<Name extends keyof Modules>(name: Name): Modules[Name] | undefined;
  emitWarning?(sentence: string, options: WarningOptions): void;
}

interface Modules {
  readonly 'node:util': {
    inspect(value: unknown, options: object): string;
  };
}

interface WarningOptions {
  readonly type: string;
  readonly code: string;
}

const host = (globalThis as { readonly process?: Host }).process;

/** A module of Node; undefined where there is none. */
export function builtin<Name extends keyof Modules>(name: Name): Modules[Name] | undefined {
  return host?.getBuiltinModule?.(name);
}

/** On standard error, or on a browser's console. */
export function warnOfHost(sentence: string, options: WarningOptions): void {
  if (host?.emitWarning === undefined) console.warn(`${options.type}: ${sentence}`);
  else host.emitWarning(sentence, options);
}

const NodeBuffer = (globalThis as { readonly Buffer?: typeof Buffer }).Buffer;
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The text in UTF-8. */
export function bytesOf(text: string): Uint8Array {
  return NodeBuffer?.from(text) ?? encoder.encode(text);
}

/** A text that is stored in UTF-8. */
export function textOf(bytes: Uint8Array): string {
  return NodeBuffer === undefined ? decoder.decode(bytes) : viewOf(bytes).toString();
}

/** The same for a text of ASCII characters alone. */
export function asciiOf(bytes: Uint8Array): string {
  return NodeBuffer === undefined ? decoder.decode(bytes) : viewOf(bytes).toString('latin1');
}

export function copyOf(bytes: Uint8Array): Uint8Array {
  return NodeBuffer?.from(bytes) ?? Uint8Array.from(bytes);
}

/** How many bytes the text takes in UTF-8. */
export function byteLength(text: string): number {
  return NodeBuffer?.byteLength(text) ?? encoder.encode(text).length;
}

/**
 * The order of the texts in UTF-8, in which a store has its rows: that of their characters.
 * JavaScript's own order is that of UTF-16. Both differ only for a character of two units, which is
 * above all characters of one.
 */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (left !== right) return rankOf(left) - rankOf(right);
  }
  return a.length - b.length;
}

function rankOf(unit: number): number {
  const isHalf = unit >= 0xd800 && unit <= 0xdfff;
  return isHalf ? unit + 0x1_0000 : unit;
}

/**
 * A view as a Buffer, in Node: shares the memory, which `Buffer.from(bytes)` would copy. For
 * decoding: do not change the bytes.
 */
export function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
