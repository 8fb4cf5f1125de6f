/**
 * The entry of a parked cell (P45), in the notify table: `parked:<column>` or
 * `parked-weak:<column>`.
 */
export interface ParkedEntry {
  /** How often the cell's observers failed before it was parked; 0 if it cannot be decoded. */
  readonly failures: number;
  /** What the observer threw last. */
  readonly error: string;
}

export function encodeParked({ failures, error }: ParkedEntry): Uint8Array {
  return Buffer.from(JSON.stringify({ failures, error }));
}

/**
 * If the storage has other bytes than the engine writes, the entry says so in `error`: the cell is
 * still parked, and an operator has to see it to replay it.
 */
export function decodeParked(value: Uint8Array): ParkedEntry {
  const text = Buffer.from(value).toString();
  return decode(text) ?? { failures: 0, error: `an entry that cannot be decoded: ${text}` };
}

function decode(text: string): ParkedEntry | undefined {
  try {
    const { failures, error } = JSON.parse(text) as { failures: unknown; error: unknown };
    return typeof failures === 'number' && typeof error === 'string'
      ? { failures, error }
      : undefined;
  } catch {
    return undefined;
  }
}
