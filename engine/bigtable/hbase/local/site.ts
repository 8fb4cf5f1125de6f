/** The files of settings that Hadoop and HBase read. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type Properties = Readonly<Record<string, string | number | boolean>>;

/** @param name such as `core-site.xml` */
export async function writeSite(
  folder: string,
  name: string,
  properties: Properties,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), `<configuration>\n${lines(properties)}</configuration>\n`);
}

function lines(properties: Properties): string {
  return Object.entries(properties)
    .map(([name, value]) => {
      // A path may contain characters that begin something else in XML.
      const text = String(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
      return `<property><name>${name}</name><value>${text}</value></property>\n`;
    })
    .join('');
}
