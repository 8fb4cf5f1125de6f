/** The settings of a private PostgreSQL are enough for what the benchmark asks of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionsOfClient, settingsFor } from './tuning.ts';

/** Transactions run at two isolation levels, each with connections of its own. */
const POOLS = 2;
/** A server as delivered has a hundred, and keeps three for its administrator. */
const AS_DELIVERED = 97;

test('up to 64 client processes get all their connections, up to 48 on a server as delivered', () => {
  const ours = Number(settingsFor()['max_connections']?.value);
  for (let clients = 1; clients <= 64; clients++) {
    const used = POOLS * clients * connectionsOfClient(clients);
    assert.ok(used < ours - 3, `${clients} clients use ${used} connections of ${ours}`);
    if (clients <= 48) assert.ok(used <= AS_DELIVERED, `${clients} clients use ${used}`);
  }
});
