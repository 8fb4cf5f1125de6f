/**
 * Where the owner of a store listens: at `socket` in the folder of the store. The next owner
 * renames that folder (P69), so this one can neither replace nor remove the next one's socket.
 *
 * The system limits the path of a socket to about a hundred bytes, and not every file system can
 * hold one. Then the socket is in a private temporary folder, whose path is in the file
 * `socket-at`. Only the owner of the folder changes either, after removing what a killed owner has
 * left.
 */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';

const SOCKET = 'socket';
const ELSEWHERE = 'socket-at';
const PATH_BYTES_MAX = 100;

/** The path to connect to. The socket may be gone, or left over from an owner that was killed. */
export function socketOf(folder: string): string {
  return elsewhere(folder) ?? join(folder, SOCKET);
}

/**
 * Whether a process listens there, even one that is stopped: the system answers for it. No answer
 * tells nothing for certain, because the socket may have been removed.
 */
export function isServed(folder: string): Promise<boolean> {
  const answered = Promise.withResolvers<boolean>();
  const socket = connect(socketOf(folder));
  socket.once('connect', () => answered.resolve(true));
  socket.once('error', ({ code }: NodeJS.ErrnoException) => answered.resolve(code === 'EAGAIN'));
  return answered.promise.finally(() => socket.destroy());
}

/** Whether the owner's socket is where the others look for it. */
export function isReachable(folder: string): boolean {
  return existsSync(socketOf(folder));
}

/**
 * The path in `socket-at`, if `listenElsewhere` has made it for this folder: after a power cut the
 * file may be empty, and in a copy of the folder it names the socket of the original.
 */
function elsewhere(folder: string): string | undefined {
  try {
    const path = readFileSync(join(folder, ELSEWHERE), 'utf8');
    const isOurs = basename(dirname(path)).startsWith(prefixOf(folder));
    return isOurs && isAbsolute(path) && basename(path) === SOCKET ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Called by the owner of the folder. @returns a function that removes the socket */
export async function listenIn(folder: string, server: Server): Promise<() => void> {
  removeSocket(folder);
  const inside = join(folder, SOCKET);
  const isShort = Buffer.byteLength(inside) <= PATH_BYTES_MAX;
  if (!isShort || !(await listenAt(inside, server))) await listenElsewhere(folder, server);
  return () => removeSocket(folder);
}

async function listenElsewhere(folder: string, server: Server): Promise<void> {
  const path = join(mkdtempSync(resolve(tmpdir(), prefixOf(folder))), SOCKET);
  const named = join(folder, ELSEWHERE);
  try {
    writeFileSync(`${named}.new`, path);
    renameSync(`${named}.new`, named);
  } catch (error) {
    rmdirSync(dirname(path)); // Nothing names it, so nothing else would remove it.
    throw error;
  }
  if (await listenAt(path, server)) return;
  removeSocket(folder);
  throw new Error(
    `neither it nor the folder for temporary files (TMPDIR) can hold a socket, whose path may have at most ${PATH_BYTES_MAX} bytes`,
  );
}

async function listenAt(path: string, server: Server): Promise<boolean> {
  try {
    server.listen(path);
    await once(server, 'listening');
    chmodSync(path, 0o600);
    return true;
  } catch {
    server.close(); // It listens if only `chmod` was refused, as some file systems do for sockets.
    return false;
  }
}

/**
 * Names the folder and its volume. A copy of the folder has another inode number, and a clone of
 * the volume another device: the processes of neither may use or remove the original's socket.
 */
function prefixOf(folder: string): string {
  const { dev, ino } = lstatSync(folder);
  return `percolator-${dev.toString(36)}-${ino.toString(36)}-`; // Short: see PATH_BYTES_MAX.
}

function removeSocket(folder: string): void {
  removeElsewhere(folder);
  rmSync(join(folder, ELSEWHERE), { force: true });
  rmSync(join(folder, SOCKET), { force: true });
}

function removeElsewhere(folder: string): void {
  const path = elsewhere(folder);
  if (path === undefined) return;
  try {
    rmSync(path, { force: true });
    rmdirSync(dirname(path));
  } catch {
    // What stays in the folder for temporary files is in the way of no owner.
  }
}
