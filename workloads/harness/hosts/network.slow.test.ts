/** Hosts in namespaces: what a cut lets through, what is counted, and what is left at the end. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa, execaNode } from 'execa';
import { temporaryFolder, until } from '#engine/testing';
import { whyNoHosts } from './inside.ts';
import type { Dropped } from './network.ts';

const FIXTURE = fileURLToPath(new URL('trial.fixture.ts', import.meta.url));
const why = await whyNoHosts();
const skip = why ?? false;

interface Seen {
  readonly plain: boolean;
  readonly unplugged: { readonly one: boolean; readonly two: boolean };
  readonly droppedUnplugged: Dropped;
  readonly blocked: { readonly one: boolean; readonly two: boolean };
  readonly droppedBlocked: Dropped;
  readonly healed: boolean;
  readonly none: Dropped;
}

test(
  'a cut host reaches nothing and others do, what it could not send is counted, and healed it reaches all',
  {
    skip,
  },
  async () => {
    const { stdout } = await execaNode(FIXTURE);
    const { droppedUnplugged, droppedBlocked, ...seen } = JSON.parse(stdout) as Seen;
    assert.deepEqual(seen, {
      plain: true,
      unplugged: { one: false, two: true },
      blocked: { one: false, two: true },
      healed: true,
      none: { unplugged: 0, blocked: 0 },
    });
    assert.ok(droppedUnplugged.unplugged > 0, 'packets are counted at the unplugged interface');
    assert.equal(droppedUnplugged.blocked, 0);
    assert.equal(droppedBlocked.unplugged, droppedUnplugged.unplugged);
    assert.ok(droppedBlocked.blocked > 0, 'packets without a way are counted');
  },
);

test('nothing is left when the process that asked for hosts is killed', { skip }, async () => {
  const TMPDIR = temporaryFolder();
  const child = execa(process.execPath, [FIXTURE, 'stay'], {
    reject: false,
    buffer: false,
    env: { TMPDIR },
  });
  await once(child.stdout, 'data'); // The hosts are there.
  const inside = processesOf(FIXTURE).filter(({ pid }) => pid !== child.pid);
  assert.ok(inside.length > 0);
  assert.equal(readdirSync(TMPDIR).length, 1);
  child.kill('SIGKILL');
  await until(() => inside.every(({ pid, name }) => namespaceOf(pid) !== name));
  await until(() => readdirSync(TMPDIR).length === 0);
});

/** Processes that were started for this file, and their namespaces of networks. */
function processesOf(file: string): readonly { readonly pid: number; readonly name: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && commandOf(name).includes(file))
    .map((pid) => ({ pid: Number(pid), name: namespaceOf(Number(pid)) ?? '' }));
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return ''; // It has ended.
  }
}

function namespaceOf(pid: number): string | undefined {
  try {
    return existsSync(`/proc/${pid}/ns/net`) ? readlinkSync(`/proc/${pid}/ns/net`) : undefined;
  } catch {
    return undefined;
  }
}
