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
    return [400, 600].map((weight) => {
      const file = `@fontsource/inter/files/inter-latin-${weight}-normal.woff2`;
      return { weight, bytes: readFileSync(fileURLToPath(import.meta.resolve(file))) };
    });
  } catch {
    return [];
  }
}
