/** The arguments of client processes do not tell the password of the user's server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutPassword, withPassword } from './server.ts';

for (const place of [
  'postgresql://me:s%C3%A9cret@host:5432/theirs?sslmode=disable',
  'postgresql://me@host:5432/theirs?sslmode=disable&password=s%C3%A9cret',
  'postgresql:///theirs?host=%2Ftmp%2Fsocket&user=me',
]) {
  test(`a connection like ${place} is sent without its password, and is complete again`, () => {
    const connectionString = place.replace('/theirs', '/ours');
    const sent = withoutPassword({ connectionString });
    assert.doesNotMatch(JSON.stringify(sent), /cret/);
    assert.match(sent.connectionString ?? '', /\/ours\?/);
    assert.deepEqual(withPassword(sent, { DATABASE_URL: place }), { connectionString });
  });
}

test('a connection to a private server has no password, and stays as it is', () => {
  const connection = { host: '/tmp/socket', port: 5432, user: 'postgres', database: 'ours' };
  assert.deepEqual(withoutPassword(connection), connection);
  const environment = { DATABASE_URL: 'postgresql://me:secret@host/theirs' };
  assert.deepEqual(withPassword(connection, environment), connection);
});
