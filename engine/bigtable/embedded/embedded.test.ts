/** placeholder */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { conformanceSuite } from '../conformance.ts';
import { openEmbedded } from './index.ts';

const folders: string[] = [];
async function folderForTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'percolator-embedded-'));
  folders.push(folder);
  return folder;
}
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});
conformanceSuite('embedded', async () => openEmbedded({ folder: await folderForTest() }));
