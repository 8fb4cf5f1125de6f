/**
 * Runs a script again inside namespaces of its own, where it may make hosts (network.ts):
 *
 *     the script, as called ──▶ unshare ──▶ sh, the first process inside ──▶ the script, once more
 *            └──── says when to stop, over IPC; if it is gone, the one inside ends ─────┘
 *
 * Inside are processes, mounts and network of their own: no address exists outside, and when the
 * first process has ended, the kernel ends all others and removes the network, whatever ended it.
 * Root may make namespaces; other users may inside a namespace of users, where the system lets
 * them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { execa } from 'execa';

const INSIDE = 'PERCOLATOR_INSIDE_NAMESPACES';

/** As root, and as any user. */
const WAYS: readonly (readonly string[])[] = [
  ['-nmpf', '--mount-proc', '--kill-child'],
  ['-Urnmpf', '--mount-proc', '--kill-child'],
];

/** Makes what network.ts makes, once, in the smallest size. */
const TRIAL = `
  set -e
  mount -t tmpfs tmpfs /run
  ip link set lo up
  ip link add trial type bridge
  ip netns add trial
  ip link add trial-port type veth peer name eth0 netns trial
  nsenter --net=/run/netns/trial true
`;

/**
 * Names would be looked up outside, where nothing can be reached from inside. The folder of
 * temporary files goes once nothing is left that writes to it, also if the process outside cannot
 * remove it any more.
 */
const BEGIN = `
  set -e
  mount -t tmpfs tmpfs /run
  echo 'nameserver 127.0.0.1' >/run/resolv.conf
  [ ! -e /etc/resolv.conf ] || mount --bind /run/resolv.conf /etc/resolv.conf
  ip link set lo up
  set +e
  "$@"
  code=$?
  kill -9 -1 2>/dev/null
  rm -rf -- "$TMPDIR"
  exit $code
`;

/** Whether this process may make hosts. */
export function isInside(): boolean {
  return process.env[INSIDE] === '1';
}

/** Why this machine has no hosts, in a sentence; undefined if it has. */
export async function whyNoHosts(): Promise<string | undefined> {
  const way = await wayInside();
  return typeof way === 'string' ? way : undefined;
}

/**
 * Runs the script of this process again, with the same arguments, and resolves with its exit code.
 * @param signal asks it to stop
 * @throws Error in the words of `whyNoHosts`
 */
export async function runInside(signal: AbortSignal): Promise<number> {
  const way = await wayInside();
  if (typeof way === 'string') throw new Error(way);
  const script = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  // A folder that processes outside share tells by their numbers who uses it: inside are others.
  const temporary = await mkdtemp(path.join(tmpdir(), 'percolator-hosts-'));
  const child = spawn('unshare', [...way, 'sh', '-c', BEGIN, 'sh', ...script], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [INSIDE]: '1', TMPDIR: temporary },
    detached: true, // A ctrl-C at the terminal would reach it twice.
  });
  const stop = (): void => {
    if (child.connected) child.send('stop', () => {});
  };
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code ?? 1;
  } finally {
    signal.removeEventListener('abort', stop);
    await rm(temporary, { recursive: true, force: true });
  }
}

/** The process inside: stops when the one outside says so, and ends when that is gone. */
export function obeyOutside(): void {
  if (!process.connected) process.exit(1); // It was gone before this process could listen.
  process.on('message', () => process.emit('SIGINT', 'SIGINT'));
  process.on('disconnect', () => process.exit(1));
  process.channel?.unref();
}

async function wayInside(): Promise<readonly string[] | string> {
  if (process.platform !== 'linux') return 'hosts are namespaces of Linux, and this is not Linux';
  let said = '';
  for (const way of WAYS) {
    const { failed, stderr } = await execa('unshare', [...way, 'sh', '-c', TRIAL], {
      reject: false,
      stdin: 'ignore',
    });
    if (!failed) return way;
    said ||= stderr?.trim().split('\n').at(-1) ?? '';
  }
  const reason = said === '' ? 'unshare is missing' : said;
  return `hosts need the right to make namespaces, and unshare, nsenter and ip: ${reason}`;
}
