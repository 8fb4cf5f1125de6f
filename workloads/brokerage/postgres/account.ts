/**
 * The account that runs a private PostgreSQL: our own, or, since PostgreSQL refuses to run as root,
 * the system's unprivileged account.
 */
import process from 'node:process';
import { execa } from 'execa';

/** In the form that `spawn` takes; empty for our own account. */
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
