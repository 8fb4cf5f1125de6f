/**
 * Customer-Position. Frame 1: the customer, by id or by tax id, and the accounts with balance and
 * `assets` (positions at LAST_TRADE's prices, without the balance), lowest assets first, at most
 * 10. Frame 2, if `historyOf` is given: the 10 newest trades (by T_DTS, then id, descending) of the
 * account at that index (modulo the number of accounts), each with its history: at most 30 lines,
 * newest trade first and its newest status first (by TH_DTS, then TH_ST_ID, descending).
 */
import type { TableRow } from '../model/tables.ts';
import type { RowReader } from '../percolator/rows.ts';

export interface CustomerPositionInput {
  readonly customer: { readonly id: number } | { readonly taxId: string };
  readonly historyOf: number | null;
}

export interface CustomerPositionResult {
  readonly frame1: {
    readonly customerId: number;
    readonly taxId: string;
    readonly statusId: string;
    readonly lastName: string;
    readonly firstName: string;
    readonly middleName: string;
    readonly gender: string;
    readonly tier: number;
    readonly birthday: number;
    readonly addressId: number;
    /** Country, area, local and extension of the three phones. */
    readonly phones: readonly (readonly [string, string, string, string])[];
    readonly emails: readonly [string, string];
    readonly accounts: readonly {
      readonly accountId: number;
      readonly balance: number;
      readonly assets: number;
    }[];
  };
  readonly frame2:
    | readonly {
        readonly tradeId: number;
        readonly symbol: string;
        readonly quantity: number;
        readonly statusName: string;
        readonly time: number;
      }[]
    | null;
}

const ACCOUNTS_MAX = 10;
const TRADES_MAX = 10;
const LINES_MAX = 30;

type Frame1 = CustomerPositionResult['frame1'];

export async function customerPosition(
  rows: RowReader,
  { customer: wanted, historyOf }: CustomerPositionInput,
): Promise<CustomerPositionResult> {
  const customer = await findCustomer(rows, wanted);
  const accounts = await readAccounts(rows, customer.c_id);
  const frame1 = { ...describeCustomer(customer), accounts };
  if (historyOf === null) return { frame1, frame2: null };
  const account = accounts[historyOf % accounts.length];
  return { frame1, frame2: await readHistory(rows, account?.accountId ?? 0) };
}

async function findCustomer(
  rows: RowReader,
  wanted: CustomerPositionInput['customer'],
): Promise<TableRow<'customer'>> {
  if ('id' in wanted) return rows.get('customer', wanted.id);
  const [customer] = await rows.scanPath('customer', 'by_tax_id', [wanted.taxId]);
  if (customer === undefined) throw new Error(`no customer has tax id ${wanted.taxId}`);
  return customer;
}

async function readAccounts(rows: RowReader, customerId: number): Promise<Frame1['accounts']> {
  const accounts = await rows.scanPath('customer_account', 'by_customer', [customerId]);
  const positions = await positionsOf(
    rows,
    accounts.map(({ ca_id }) => ca_id),
  );
  const lastTrades = await rows.byKey(
    'last_trade',
    [...positions.values()].flat().map((one) => one.hs_s_symb),
  );
  const valued = accounts.map(({ ca_id, ca_bal }) => ({
    accountId: ca_id,
    balance: ca_bal,
    assets: (positions.get(ca_id) ?? []).reduce(
      (sum, { hs_s_symb, hs_qty }) => sum + hs_qty * (lastTrades.get(hs_s_symb)?.lt_price ?? 0),
      0,
    ),
  }));
  return valued
    .toSorted((a, b) => a.assets - b.assets || a.accountId - b.accountId)
    .slice(0, ACCOUNTS_MAX);
}

/** Positions by account. A customer's accounts have consecutive ids, so this is one scan. */
async function positionsOf(
  rows: RowReader,
  accountIds: readonly number[],
): Promise<ReadonlyMap<number, readonly TableRow<'holding_summary'>[]>> {
  const from = Math.min(...accountIds);
  const to = Math.max(...accountIds);
  const positions = await rows.scan('holding_summary', [], { from, to });
  return Map.groupBy(positions, ({ hs_ca_id }) => hs_ca_id);
}

function describeCustomer(customer: TableRow<'customer'>): Omit<Frame1, 'accounts'> {
  return {
    customerId: customer.c_id,
    taxId: customer.c_tax_id,
    statusId: customer.c_st_id,
    lastName: customer.c_l_name,
    firstName: customer.c_f_name,
    middleName: customer.c_m_name,
    gender: customer.c_gndr,
    tier: customer.c_tier,
    birthday: customer.c_dob,
    addressId: customer.c_ad_id,
    phones: [
      [customer.c_ctry_1, customer.c_area_1, customer.c_local_1, customer.c_ext_1],
      [customer.c_ctry_2, customer.c_area_2, customer.c_local_2, customer.c_ext_2],
      [customer.c_ctry_3, customer.c_area_3, customer.c_local_3, customer.c_ext_3],
    ],
    emails: [customer.c_email_1, customer.c_email_2],
  };
}

async function readHistory(
  rows: RowReader,
  accountId: number,
): Promise<NonNullable<CustomerPositionResult['frame2']>> {
  const trades = await rows.scanPath('trade', 'by_account', [accountId], { limit: TRADES_MAX });
  const records = await rows.trades(trades.map(({ t_id }) => t_id));
  const lines = records.flatMap(({ trade, history }) =>
    history.toReversed().map((line) => ({ trade, line })),
  );
  const shown = lines.slice(0, LINES_MAX);
  const statuses = await rows.byKey(
    'status_type',
    shown.map(({ line }) => line.th_st_id),
  );
  return shown.map(({ trade, line }) => ({
    tradeId: trade.t_id,
    symbol: trade.t_s_symb,
    quantity: trade.t_qty,
    statusName: statuses.get(line.th_st_id)?.st_name ?? '',
    time: line.th_dts,
  }));
}
