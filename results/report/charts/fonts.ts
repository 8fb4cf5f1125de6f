/** The font of charts and page: Inter, in the two weights used, from an npm package. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface FontFile {
  readonly weight: number;
  readonly bytes: Uint8Array;
}

export function fontFiles(): readonly FontFile[] {
  return [
    fontFile(400, import.meta.resolve('@fontsource/inter/files/inter-latin-400-normal.woff2')),
    fontFile(600, import.meta.resolve('@fontsource/inter/files/inter-latin-600-normal.woff2')),
  ];
}

function fontFile(weight: number, address: string): FontFile {
  return { weight, bytes: readFileSync(fileURLToPath(address)) };
}
