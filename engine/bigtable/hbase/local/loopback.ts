/** The address at which the processes of a local cluster listen, and its ports. */
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { createRandom, entropySeed } from '../../../base/index.ts';

export const HOST = '127.0.0.1';

/**
 * By default Linux takes the port of an outgoing connection from 32768 to 60999, other systems from
 * higher ones. A port from there could be free now, and taken when the service starts.
 */
const LOWEST = 10_000;
const HIGHEST = 32_767;

/**
 * Ports that are free now, and that by default the operating system gives to no connection. All are
 * found before any is used, so that none is given twice.
 */
export async function freePorts(count: number): Promise<readonly number[]> {
  const random = createRandom(entropySeed());
  const servers: Server[] = [];
  while (servers.length < count) {
    const server = await listen(random.integer(LOWEST, HIGHEST));
    if (server !== undefined) servers.push(server);
  }
  const found = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return found;
}

/** Whether a process accepts connections there. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, HOST);
    const end = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.on('connect', () => end(true));
    socket.on('error', () => end(false));
  });
}

/** Undefined if another process listens at the port. */
function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen(port, HOST, () => resolve(server));
  });
}
