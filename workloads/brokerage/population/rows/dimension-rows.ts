/** Addresses and zip codes. */
import type { Roster, Row, Scale } from '../../model/index.ts';
import { ID_SHIFT } from '../ids.ts';
import { fractionAt, integerAt, LANE } from '../lanes.ts';
import { STREETS, TOWNS } from '../words.ts';
import { EXCHANGES } from './fixed-rows.ts';
import { pick } from './person.ts';

/** Addresses of the exchanges, of the companies, and of the customers. */
export function* addressRows(
  roster: Roster,
  { zipCodes }: Scale,
  seed: number,
): Generator<Row<'address'>> {
  const count = EXCHANGES.length + roster.companies + roster.customers;
  for (let i = 0; i < count; i++) {
    const street = pick(STREETS, fractionAt(seed, LANE.address, i));
    yield {
      ad_id: ID_SHIFT + i + 1,
      ad_line1: `${1 + integerAt(seed + 1, LANE.address, i, 9_999)} ${street} Street`,
      ad_line2: integerAt(seed + 2, LANE.address, i, 3) === 0 ? `Apt. ${i % 100}` : '',
      ad_zc_code: zipCode(integerAt(seed + 3, LANE.address, i, zipCodes)),
      ad_ctry: integerAt(seed + 4, LANE.address, i, 5) === 0 ? 'CANADA' : 'USA',
    };
  }
}

export function* zipCodeRows({ zipCodes }: Scale): Generator<Row<'zip_code'>> {
  for (let i = 0; i < zipCodes; i++) {
    const town = TOWNS[i % TOWNS.length] ?? '';
    yield { zc_code: zipCode(i), zc_town: town, zc_div: `D${Math.floor(i / 300)}` };
  }
}

function zipCode(index: number): string {
  return String(10_000 + index * 6);
}
