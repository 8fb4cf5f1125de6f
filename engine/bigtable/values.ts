/**
 * Values as callers give them, and what the engine makes of them.
 *
 * The bytes of a caller are its own: it may use its buffer again, transfer it to a thread, shrink
 * it, or share it with a thread that writes in it. And a storage looks at them late, together with
 * those of other callers. So what a user gives is copied before the call returns (P76). Below that,
 * a `Bigtable` checks the values of each mutation before it takes any of it.
 */
import { isUint8Array } from 'node:util/types';
import { check, type Kind } from '../base/options.ts';
import { PercolatorError } from '../base/index.ts';

/** Bigtable's limit. */
const VALUE_BYTES_MAX = 100_000_000;

/** Of any realm: `instanceof` would refuse those of a `vm` context, or of a test runner's. */
const BYTES: Kind = { expected: 'bytes in a Uint8Array', accepts: isUint8Array };

const TEXT_OR_BYTES: Kind = {
  expected: 'a text or bytes in a Uint8Array (delete removes a value)',
  accepts: (value) => typeof value === 'string' || isUint8Array(value),
};

/**
 * The bytes of a value, which no caller can change.
 * @param name how the error names the value
 * @throws INVALID_ARGUMENT
 */
export function ownValue(name: string, value: Uint8Array | string): Buffer {
  check(name, value, TEXT_OR_BYTES);
  if (typeof value !== 'string') return ownBytes(name, value);
  if (!value.isWellFormed()) {
    throw refused(name, 'is a text with half of a surrogate pair, which UTF-8 cannot hold');
  }
  const bytes = Buffer.from(value);
  checkLength(name, bytes);
  return bytes;
}

/** The same for a value that must be bytes. */
export function ownBytes(name: string, value: Uint8Array): Buffer {
  checkBytes(name, value);
  try {
    return Buffer.from(value);
  } catch (cause) {
    // Another thread has made shared memory larger meanwhile, for example.
    throw refused(name, 'has bytes that cannot be copied', cause);
  }
}

/** @throws INVALID_ARGUMENT for a value that cannot be stored */
export function checkBytes(name: string, value: Uint8Array): void {
  check(name, value, BYTES);
  if (value.length === 0) {
    try {
      value.at(0); // It throws for the lost, not for the empty.
    } catch (cause) {
      throw refused(name, 'has lost its bytes: their ArrayBuffer was transferred or shrunk', cause);
    }
  }
  checkLength(name, value);
}

function checkLength(name: string, { length }: Uint8Array): void {
  if (length <= VALUE_BYTES_MAX) return;
  throw refused(name, `has ${length} bytes; at most ${VALUE_BYTES_MAX} are allowed`);
}

function refused(name: string, what: string, cause?: unknown): PercolatorError {
  return new PercolatorError('INVALID_ARGUMENT', `${name} ${what}`, { cause });
}
