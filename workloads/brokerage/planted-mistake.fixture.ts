/**
 * A mistake in Trade-Result, planted while the module is loaded (`node --import`): each cash trade
 * leaves a cent too much on the account. main.slow.test.ts shows that a wrong run has no numbers.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

const PLACE = '/brokerage/transactions/trade-result.ts';
const RIGHT = 'const ca_bal = account.ca_bal + (cash?.ct_amt ?? 0);';
const WRONG = RIGHT.replace(';', ' + 1;');

registerHooks({
  load: (url, context, nextLoad) => {
    if (!url.endsWith(PLACE)) return nextLoad(url, context);
    const source = readFileSync(fileURLToPath(url), 'utf8');
    assert.ok(source.includes(RIGHT), 'the line to break is there');
    return { ...nextLoad(url, context), source: source.replace(RIGHT, WRONG) };
  },
});
