/** For tests that no process is left: a process is found by what its command line names. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Numbers of the processes whose command line holds the text; none without a /proc. */
export function processesNaming(text: string): readonly string[] {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
    } catch {
      return false; // The process has ended in the meantime.
    }
  });
}
