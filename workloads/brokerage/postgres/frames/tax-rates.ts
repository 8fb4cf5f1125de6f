/** The sum of a customer's tax rates. */
import type { Frame, Statement } from './frame.ts';

export async function readTaxRates(frame: Frame, customerId: number): Promise<number> {
  return (await frame.row<{ rates: number }>(TAX_RATES, [customerId])).rates;
}

const TAX_RATES: Statement = {
  name: 'tax rates of a customer',
  text: `
    SELECT sum(tx_rate) AS rates
    FROM customer_taxrate
    JOIN taxrate ON tx_id = cx_tx_id
    WHERE cx_c_id = $1`,
};
