/** A process that stands still for a while. */

/**
 * Stops a process for a while, from a separate shell that outlives this program. If this program is
 * killed meanwhile, the process must continue, to find its parent gone; otherwise it would stay
 * stopped for ever.
 */
export async function stopFor(pid: number, forMs: number): Promise<void> {
  const script = 'kill -STOP "$1"; sleep "$2"; kill -CONT "$1"';
  const seconds = String(forMs / 1_000);
  const { execa } = await import('execa');
  await execa('sh', ['-c', script, 'stop', String(pid), seconds], {
    stdio: 'ignore',
    detached: true,
    cleanup: false,
    reject: false, // The process may have been killed meanwhile.
  });
}
