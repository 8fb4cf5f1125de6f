/** For tests of scripts that start processes: which of them run. Without a /proc none is found. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Numbers of the processes that a process has started and that run now. */
export function childrenOf(parent: number | undefined): readonly string[] {
  if (!existsSync('/proc')) return [];
  const isChild = (pid: string): boolean => read(pid, 'status').includes(`PPid:\t${parent}\n`);
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isChild(name));
}

/**
 * Waits until a script has ended. Resolves with the programs `<name>-process.ts` of the moment when
 * it ran the most of them, in order of name.
 */
export async function mostPrograms(
  script: PromiseLike<unknown> & { readonly pid?: number | undefined },
): Promise<readonly string[]> {
  let most: readonly string[] = [];
  const look = setInterval(() => {
    const running = programsOf(script.pid);
    if (running.length > most.length) most = running;
  }, 50);
  try {
    await script;
  } finally {
    clearInterval(look);
  }
  return most;
}

function programsOf(parent: number | undefined): readonly string[] {
  const names = childrenOf(parent).map(
    (pid) => /([\w-]+)-process\.ts/.exec(read(pid, 'cmdline'))?.[1],
  );
  return names.filter((name) => name !== undefined).toSorted();
}

/** Empty if the process has ended in the meantime. */
function read(pid: string, file: 'status' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
