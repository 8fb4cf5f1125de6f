/** Who runs a PostgreSQL of ours: we, or, since PostgreSQL refuses to run as root, whoever is nobody on this system. */
import process from 'node:process';
import { execa } from 'execa';

/** As `spawn` takes it; empty for ourselves. */
export interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

export async function unprivilegedAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = await Promise.all([idOf('-u'), idOf('-g')]);
  return { uid, gid };
}

async function idOf(which: '-u' | '-g'): Promise<number> {
  return Number((await execa('id', [which, 'nobody'])).stdout);
}
