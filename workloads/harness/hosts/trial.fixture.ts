/**
 * What network.slow.test.ts looks at from outside: makes two hosts inside namespaces, cuts them
 * off, and prints what one could reach of the other, and what was dropped.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import process from 'node:process';
import { execa } from 'execa';
import { systemClock } from '#engine';
import { isInside, obeyOutside, runInside } from './inside.ts';
import { type Host, HostNetwork } from './network.ts';

const CONNECT = `
  const [host, port] = process.argv.slice(1);
  const socket = require('node:net').connect({ host, port });
  socket.on('connect', () => process.exit(0)).on('error', () => process.exit(1));
  setTimeout(() => process.exit(1), 1500);
`;
/** Sends all the time through one connection. */
const SEND = `
  const [host, port] = process.argv.slice(1);
  const socket = require('node:net').connect({ host, port });
  socket.on('connect', () => {
    console.log('connected');
    setInterval(() => socket.write('x'), 50);
  });
`;

if (!isInside()) process.exitCode = await runInside(new AbortController().signal);
else {
  obeyOutside();
  const network = await HostNetwork.make(2);
  const [one, two] = network.hosts as readonly [Host, Host];
  // A connection whose other side was cut off must not keep this process.
  const server = createServer((socket) => {
    socket
      .on('error', () => {})
      .resume()
      .unref();
  }).listen(0, '10.77.0.254');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const run = ({ enter: [program = '', ...words] }: Host, script: string) => {
    const node = [process.execPath, '-e', script, '10.77.0.254', String(port)];
    return execa(program, [...words, ...node], { reject: false });
  };
  /** From this host to where this process listens. */
  const reaches = async (host: Host): Promise<boolean> => !(await run(host, CONNECT)).failed;
  const here = { name: 'here', address: '10.77.0.254', enter: [] };
  const plain = await reaches(one);
  await network.unplug(one);
  const unplugged = { one: await reaches(one), two: await reaches(two) };
  const droppedUnplugged = await network.dropped(one);
  await network.plug(one);
  const sender = run(one, SEND);
  await once(sender.stdout, 'data'); // It has a connection.
  await network.block(one, here);
  const blocked = { one: await reaches(one), two: await reaches(two) };
  const droppedBlocked = await network.dropped(one);
  sender.kill();
  await network.unblock(one, here);
  const healed = await reaches(one);
  const none = await network.dropped(two);
  server.close();
  console.log(
    JSON.stringify({ plain, unplugged, droppedUnplugged, blocked, droppedBlocked, healed, none }),
  );
  if (process.argv.includes('stay')) await systemClock.sleep(600_000);
}
