/** Numbers in a line have the value of their text, also where a double would hold another one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BadLineError } from '../lines.ts';
import { type ParsedOperation, parseTransaction } from './transaction.ts';

function operationOf(operation: string): ParsedOperation | undefined {
  return parseTransaction(`{"start":1,"outcome":"ok","ops":[${operation}]}`).operations[0];
}

function written(value: string): string | undefined {
  const operation = operationOf(`{"write":"x","value":${value}}`);
  assert.ok(operation?.kind === 'write');
  return operation.value;
}

test('a process may be a number of any size', () => {
  const text = '{"process":3458764513820540932,"start":1,"outcome":"ok","ops":[]}';
  assert.equal(parseTransaction(text).process, '3458764513820540932');
});

test('a value is the same in every form of its number', () => {
  for (const [form, ...others] of [
    ['1000000000000000000000', '1e21', '1E+21', '10.0e20', '1000000000000000000000.0'],
    ['100000000000000000000000', '1e23', '0.1e24'], // No double is this number.
    ['-9007199254740993', '-9007199254740993.0', '-900719925474099300e-2'],
    ['1500', '1.5e3', '15e2', '1500.0'],
    ['0.5', '5e-1'],
  ] as const) {
    for (const other of others) assert.equal(written(other), written(form), other);
    assert.equal(written(`[{"a": ${others[0]}}]`), written(`[{"a":${form}}]`));
  }
});

test('values that differ are different, also where doubles are equal', () => {
  for (const [one, other] of [
    ['9007199254740993', '9007199254740992'],
    ['9007199254740993.0', '9007199254740992'],
    ['1e400', '2e400'],
    ['12345678901234567891e-1', '1234567890123456789'],
  ] as const) {
    assert.notEqual(written(one), written(other), one);
  }
});

test('a number whose digits would fill the memory is read at once', () => {
  assert.equal(written('1e999999999'), 'Infinity');
});

test('a text or a value may have any names in it, also those of its line', () => {
  for (const value of ['"\\"start\\": 1"', '{"start":1,"a":{"start":2}}', '[{"a":1},{"a":2}]']) {
    assert.equal(written(value), value === '"\\"start\\": 1"' ? value : written(` ${value}`));
  }
  assert.throws(
    () => written('{"a":1,"b":{"c":1, "c":2}}'),
    /must have each field once, but has "c"/,
  );
});

test('a key is a number up to 2^53 - 1, in every form', () => {
  for (const key of ['9007199254740991', '9007199254740991.0', '1e3', '0.5', '-7']) {
    assert.equal(operationOf(`{"lock":${key}}`)?.kind, 'lock', key);
  }
  for (const key of ['9007199254740992', '9007199254740993.0', '1e17', '12345678901234567.5']) {
    assert.throws(() => operationOf(`{"lock":${key}}`), {
      name: BadLineError.name,
      message:
        /^"lock" must be a key \(a string, or a number up to 2\^53 - 1; larger ones are given as/,
    });
  }
});
