/** The font of charts and page: Inter, in the two weights used, from an npm package. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface FontFile {
  readonly weight: number;
  readonly bytes: Uint8Array;
}

/** Empty if the package is not installed: then the fonts of the machine have to do. */
export function fontFiles(): readonly FontFile[] {
  try {
    return [
      fontFile(400, import.meta.resolve('@fontsource/inter/files/inter-latin-400-normal.woff2')),
      fontFile(600, import.meta.resolve('@fontsource/inter/files/inter-latin-600-normal.woff2')),
    ];
  } catch {
    return [];
  }
}

function fontFile(weight: number, address: string): FontFile {
  return { weight, bytes: readFileSync(fileURLToPath(address)) };
}
