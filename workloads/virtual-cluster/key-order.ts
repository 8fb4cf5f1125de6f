/** The order of row keys and qualifiers: that of their UTF-8 bytes, without making bytes. */

/**
 * UTF-16 code units order as UTF-8 bytes do, except that surrogates are smaller than the units from
 * U+E000 on, but belong after them.
 */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const unitA = a.charCodeAt(i);
    const unitB = b.charCodeAt(i);
    if (unitA === unitB) continue;
    const isPairA = unitA >= 0xd800 && unitA < 0xe000;
    const isPairB = unitB >= 0xd800 && unitB < 0xe000;
    if (isPairA !== isPairB) return isPairA ? 1 : -1;
    return unitA - unitB;
  }
  return a.length - b.length;
}
