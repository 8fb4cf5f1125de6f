/**
 * Claims of the hint: commits of other processes are noticed, and without a watch nothing breaks.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../base/index.ts';
import { FileWatch } from './file-watch.ts';
import { openEmbedded } from './index.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

const WRITE = fileURLToPath(new URL('write.fixture.ts', import.meta.url));

/** Resolves to whether it became true within some seconds. */
async function becomes(isTrue: () => boolean): Promise<boolean> {
  for (let i = 0; i < 500 && !isTrue(); i++) await systemClock.sleep(10);
  return isTrue();
}

test('a listener is told of commits of another process until it ends the listening', async () => {
  const folder = temporaryFolder();
  await using store = await openEmbedded({ folder });
  await store.createTable('t', { families: ['data', 'lock'] });
  let [first, second] = [0, 0];
  const endFirst = store.onChange?.(() => first++);
  const endSecond = store.onChange?.(() => second++);
  execFileSync(process.execPath, [WRITE, folder, 'a', '1']);
  assert.ok(await becomes(() => first > 0 && second > 0));

  endFirst?.();
  endFirst?.(); // Twice is harmless.
  const [firstBefore, secondBefore] = [first, second];
  execFileSync(process.execPath, [WRITE, folder, 'b', '1']);
  assert.ok(await becomes(() => second > secondBefore), 'the other one still listens');
  assert.equal(first, firstBefore);

  endSecond?.();
  let third = 0;
  store.onChange?.(() => third++);
  execFileSync(process.execPath, [WRITE, folder, 'c', '1']);
  assert.ok(await becomes(() => third > 0), 'a listener may be added again');
});

test('a closed store tells nothing, and keeps no process alive', async () => {
  const folder = temporaryFolder();
  const program = `
    import { openEmbedded } from '${new URL('index.ts', import.meta.url).href}';
    const store = await openEmbedded({ folder: ${JSON.stringify(folder)} });
    store.onChange(() => {});
    // Forgets to close it.
  `;
  execFileSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 20_000 });
  const store = await openEmbedded({ folder });
  await store.createTable('t', { families: ['data', 'lock'] });
  let heard = 0;
  store.onChange?.(() => heard++);
  await store.close();
  execFileSync(process.execPath, [WRITE, folder, 'a', '1']);
  await systemClock.sleep(50);
  assert.equal(heard, 0);
});

test('a file that cannot be watched causes no error', () => {
  assert.doesNotThrow(() => {
    const watch = new FileWatch('a folder that is not there');
    const end = watch.listen(() => {});
    end();
    watch.close();
  });
});
