/** Each limitation in a report is true of the run, and names only parts that it measured. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BrokeragePlan, limitationsOf, type PartName, SIZES } from './plan.ts';

const NONE = { paced: false, unpaced: false, reads: false, brokers: false };

function textOf(parts: readonly PartName[], given: Partial<BrokeragePlan> = {}): string {
  const named = Object.fromEntries(parts.map((part) => [part, true]));
  const plan = { ...SIZES.full, systems: ['embedded'], parts: { ...NONE, ...named }, ...given };
  return limitationsOf(plan as BrokeragePlan).join('\n');
}

test('the limitations say that low loads are measured for longer, and only if there is a ladder', () => {
  assert.match(textOf(['paced']), / 60 seconds per point, low loads up to 4 times as long\.$/m);
  assert.match(textOf(['unpaced', 'reads']), / 60 seconds per point\.$/m);
});

test('with several client processes, the parts that still have one are named', () => {
  const one = /^The (.*) are measured with one client process,/m;
  const named = (...parts: PartName[]) => one.exec(textOf(parts, { processes: 2 }))?.[1];
  assert.equal(named('reads'), 'reads that batching saves');
  assert.equal(named('unpaced', 'brokers'), 'modes of the broker update');
  assert.equal(
    named('reads', 'brokers'),
    'reads that batching saves and modes of the broker update',
  );
  assert.equal(named('unpaced'), undefined);
  assert.doesNotMatch(textOf(['unpaced', 'reads']), one);
});

test('the side table that PostgreSQL cannot have is named only if PostgreSQL is measured', () => {
  const given = { brokerUpdate: 'side-table' } as const;
  assert.doesNotMatch(textOf(['unpaced'], given), /PostgreSQL has no observers/);
  const systems = ['embedded', 'postgres'] as const;
  assert.match(textOf(['unpaced'], { ...given, systems }), /^PostgreSQL has no observers /m);
});

test('client processes are counted', () => {
  const clients = (processes: number) => textOf(['unpaced'], { processes });
  assert.match(clients(1), /^1 client process with one JavaScript thread drives each system;/m);
  assert.match(
    clients(2),
    /^2 client processes with one JavaScript thread each drive each system;/m,
  );
});
