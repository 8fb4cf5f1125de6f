/**
 * Customer-Position: a customer with the accounts and their values, and on request one account's
 * history.
 */
import { assert } from '#engine';
import type { CustomerPositionInput, CustomerPositionResult, Row } from '../../model/index.ts';
import type { Frame, Statement } from './frame.ts';

type Frame1 = CustomerPositionResult['frame1'];
type HistoryLine = NonNullable<CustomerPositionResult['frame2']>[number];

export async function customerPosition(
  frame: Frame,
  { customer, historyOf }: CustomerPositionInput,
): Promise<CustomerPositionResult> {
  const key = 'id' in customer ? customer.id : customer.taxId;
  const [person, accounts] = await Promise.all([
    frame.row<Row<'customer'>>('id' in customer ? CUSTOMER_BY_ID : CUSTOMER_BY_TAX_ID, [key]),
    frame.rows<Frame1['accounts'][number]>('id' in customer ? ACCOUNTS_BY_ID : ACCOUNTS_BY_TAX_ID, [
      key,
    ]),
  ]);
  const frame1 = { ...describePerson(person), accounts };
  if (historyOf === null) return { frame1, frame2: null };
  const account = accounts[historyOf % accounts.length];
  assert(account !== undefined, 'every customer has an account');
  return { frame1, frame2: await frame.rows<HistoryLine>(HISTORY, [account.accountId]) };
}

function describePerson(person: Row<'customer'>): Omit<Frame1, 'accounts'> {
  return {
    customerId: person.c_id,
    taxId: person.c_tax_id,
    statusId: person.c_st_id,
    lastName: person.c_l_name,
    firstName: person.c_f_name,
    middleName: person.c_m_name,
    gender: person.c_gndr,
    tier: person.c_tier,
    birthday: person.c_dob,
    addressId: person.c_ad_id,
    phones: [
      [person.c_ctry_1, person.c_area_1, person.c_local_1, person.c_ext_1],
      [person.c_ctry_2, person.c_area_2, person.c_local_2, person.c_ext_2],
      [person.c_ctry_3, person.c_area_3, person.c_local_3, person.c_ext_3],
    ],
    emails: [person.c_email_1, person.c_email_2],
  };
}

const CUSTOMER_BY_ID: Statement = {
  name: 'customer position: customer by id',
  text: `SELECT * FROM customer WHERE c_id = $1`,
};

const CUSTOMER_BY_TAX_ID: Statement = {
  name: 'customer position: customer by tax id',
  text: `SELECT * FROM customer WHERE c_tax_id = $1`,
};

const ACCOUNTS_BY_ID: Statement = {
  name: 'customer position: accounts by id',
  text: accountsOf('$1'),
};

const ACCOUNTS_BY_TAX_ID: Statement = {
  name: 'customer position: accounts by tax id',
  text: accountsOf('(SELECT c_id FROM customer WHERE c_tax_id = $1)'),
};

function accountsOf(customerId: string): string {
  return `
    SELECT ca_id AS "accountId", ca_bal AS "balance",
           coalesce(sum(hs_qty * lt_price), 0)::bigint AS "assets"
    FROM customer_account
    LEFT JOIN holding_summary ON hs_ca_id = ca_id
    LEFT JOIN last_trade ON lt_s_symb = hs_s_symb
    WHERE ca_c_id = ${customerId}
    GROUP BY ca_id
    ORDER BY "assets", ca_id
    LIMIT 10`;
}

const HISTORY: Statement = {
  name: 'customer position: history',
  text: `
    SELECT t_id AS "tradeId", t_s_symb AS "symbol", t_qty AS "quantity",
           st_name AS "statusName", th_dts AS "time"
    FROM (
      SELECT t_id, t_dts, t_s_symb, t_qty FROM trade
      WHERE t_ca_id = $1
      ORDER BY t_dts DESC, t_id DESC
      LIMIT 10
    ) AS newest
    JOIN trade_history ON th_t_id = t_id
    JOIN status_type ON st_id = th_st_id
    ORDER BY t_dts DESC, t_id DESC, th_dts DESC, th_st_id DESC
    LIMIT 30`,
};
