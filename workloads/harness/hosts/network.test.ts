/** What hosts have dropped, as the system says it; a counter that is not there is no zero. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOn } from '../processes/database.ts';
import { droppedIn } from './network.ts';

const DEVICE = '  eth0:9000 8 7 6 5 4 3 2 1000 90 80 17 60 50 40 30\n';
const ROUTES = 'Ip: Forwarding OutNoRoutes InReceives\nIp: 1 23 400\n';
const CHAIN = 'chain out {\n ip daddr @blocked counter packets 42 bytes 99 drop\n}';

test('packets are counted that an unplugged host, and one without a route, could not send', () => {
  assert.deepEqual(droppedIn(`lo: 1 2\n${DEVICE}${ROUTES}`), { unplugged: 17, blocked: 23 });
  assert.deepEqual(droppedIn(DEVICE, CHAIN), { unplugged: 17, blocked: 42 });
});

for (const [what, files, filtered] of [
  ['eth0', ROUTES, undefined],
  ['eth0', '', CHAIN],
  ['OutNoRoutes', DEVICE, undefined],
  ['OutNoRoutes', `${DEVICE}Ip: Forwarding\nIp: 1\n`, undefined],
  ['nft', DEVICE, ''],
] as const) {
  test(`a counter that cannot be read is an error: ${what} of ${files.length} bytes`, () => {
    assert.throws(() => droppedIn(files, filtered), new RegExp(`cannot be counted: ${what} `));
  });
}

test('a service of a host listens at its address, which has brackets if it is of IPv6', () => {
  const listening = ['10.0.0.7', 'a.example', '2001:db8::5'].map((address) =>
    addressOn({ name: 'host-1', address, enter: [] }),
  );
  assert.deepEqual(listening, ['10.0.0.7:0', 'a.example:0', '[2001:db8::5]:0']);
  assert.equal(addressOn(undefined), undefined);
});
