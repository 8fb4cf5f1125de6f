/** Claims of the simulated HBase that its clients do not test: the full names of exceptions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageOf } from '../../bigtable/hbase/messages.ts';
import { servicesOf } from './services.ts';
import { SimulatedHBase } from './simulated-hbase.ts';

test('an illegal table name is answered with an exception of the package java.io', () => {
  const master = 'master:16000';
  const services = servicesOf(new SimulatedHBase({ master, servers: ['server:16020'] }));
  const tableNames = [{ namespace: Buffer.from('default'), qualifier: Buffer.from('-t') }];
  const request = messageOf('GetTableDescriptorsRequest').append({ tableNames }).finish();
  const answer = services(master, 'MasterService', 'GetTableDescriptors', request);
  assert.ok('exception' in answer);
  assert.equal(answer.exception.className, 'java.io.IOException');
});
