/**
 * For tests: loaded by each process of a round before its program, and before the engine. The lease
 * of an oracle never ends, as in the mutant `lease-of-oracle-never-ends`. Each cut stops the host
 * of the leading oracle for longer than its lease, on a slow machine and on a fast one.
 */
import { plant } from './planting.fixture.ts';

plant({
  '/engine/oracle/leased-allocator.ts': [['    if (!this.#mayHandOut) return undefined;\n', '']],
  '/chaos/cuts.ts': [
    ['const left = [...names]', "const left = ['stopped']"],
    ['    forMs: ', '    forMs: 2 * ORACLE_LEASE_MS,\n    drawnMs: '],
  ],
  '/chaos/harm.ts': [['stopped: pick([...hosts, master ?? leader], victim)', 'stopped: leader']],
});
