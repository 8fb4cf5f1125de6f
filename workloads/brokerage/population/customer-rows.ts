/** The rows of customers and accounts that do not depend on trades. */
import { fractionAt, integerAt } from '../../harness/chance.ts';
import type { Roster } from '../model/population.ts';
import type { TableRow } from '../model/tables.ts';
import { taxRateIdsOf } from './fixed-rows.ts';
import { brokerId, customerId, ID_SHIFT, LANE } from './ids.ts';
import { brokerOf, drawDistinct } from './roster.ts';

/** Returns 0 (20 %), 1 (50 %) or 2 (30 %). */
export function accountTaxStatus(accountId: number, seed: number): number {
  const draw = fractionAt(seed, LANE.account, accountId);
  if (draw < 0.2) return 0;
  return draw < 0.7 ? 1 : 2;
}

export function* accountRows(
  roster: Roster,
  seed: number,
): Generator<TableRow<'customer_account'>> {
  for (let owner = 0; owner < roster.customers; owner++) {
    const { c_f_name, c_l_name } = roster.customer(owner);
    for (const [n, ca_id] of roster.accountIds(owner).entries()) {
      const balance = integerAt(seed + 2, LANE.account, ca_id, 1_000_000_000);
      yield {
        ca_id,
        ca_b_id: brokerId(brokerOf(ca_id, roster.customers, seed)),
        ca_c_id: customerId(owner),
        ca_name: `${c_f_name} ${c_l_name} account ${n + 1}`,
        ca_tax_st: accountTaxStatus(ca_id, seed),
        ca_bal: fractionAt(seed + 1, LANE.account, ca_id) < 0.8 ? balance : 0 - balance,
      };
    }
  }
}

export function* accountPermissionRows(roster: Roster): Generator<TableRow<'account_permission'>> {
  for (let owner = 0; owner < roster.customers; owner++) {
    for (const account of roster.accountIds(owner)) {
      yield* roster.permissions(account).toSorted((a, b) => (a.ap_tax_id < b.ap_tax_id ? -1 : 1));
    }
  }
}

export function* customerTaxRateRows(
  roster: Roster,
  seed: number,
): Generator<TableRow<'customer_taxrate'>> {
  for (let i = 0; i < roster.customers; i++) {
    for (const cx_tx_id of [...taxRateIdsOf(i, seed)].toSorted()) {
      yield { cx_tx_id, cx_c_id: customerId(i) };
    }
  }
}

export function* watchListRows(roster: Roster): Generator<TableRow<'watch_list'>> {
  for (let i = 0; i < roster.customers; i++) {
    yield { wl_id: watchListId(i), wl_c_id: customerId(i) };
  }
}

/** 50 to 150 of the symbols; at most three quarters of a small market. */
export function* watchItemRows(roster: Roster, seed: number): Generator<TableRow<'watch_item'>> {
  const most = Math.floor(roster.securities * 0.75);
  for (let i = 0; i < roster.customers; i++) {
    const size = Math.min(most, 50 + integerAt(seed, LANE.watchList, i, 101));
    const draw = (n: number): number => integerAt(seed + n, LANE.watchItem, i, roster.securities);
    const symbols = drawDistinct(size, draw).map(roster.symbol);
    for (const wi_s_symb of symbols.toSorted()) yield { wi_wl_id: watchListId(i), wi_s_symb };
  }
}

function watchListId(customerIndex: number): number {
  return ID_SHIFT + customerIndex + 1;
}
