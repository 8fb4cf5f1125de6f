/** A customer, computed from the index alone. */
import { type Row, tierOf } from '../../model/index.ts';
import { dayAt } from '../calendar.ts';
import { ID_SHIFT } from '../ids.ts';
import { fractionAt, integerAt, LANE } from '../lanes.ts';
import { person } from './person.ts';

/** Address ids: those of the 4 exchanges, of the companies, and then of the customers. */
function customerAddressId(index: number, companies: number): number {
  return ID_SHIFT + 4 + companies + index + 1;
}

export function customerRow(index: number, customers: number, seed: number): Row<'customer'> {
  const { firstName, middleName, lastName, taxId } = person(index, seed);
  const digits = (n: number, count: number): string =>
    String(integerAt(seed + n, LANE.customer, index, 10 ** count)).padStart(count, '0');
  const phone = (n: number): readonly [string, string, string] => [
    digits(n, 3),
    digits(n + 1, 7),
    n === 10 && fractionAt(seed, LANE.customer, index) < 0.25 ? digits(n + 2, 3) : '',
  ];
  const [area1, local1, ext1] = phone(10);
  const [area2, local2, ext2] = phone(20);
  const [area3, local3, ext3] = phone(30);
  const mail = `${firstName}.${lastName}${index}`.toLowerCase();
  return {
    c_id: ID_SHIFT + index + 1,
    c_tax_id: taxId,
    c_st_id: 'ACTV',
    c_l_name: lastName,
    c_f_name: firstName,
    c_m_name: middleName,
    c_gndr: fractionAt(seed + 1, LANE.customer, index) < 0.49 ? 'M' : 'F',
    c_tier: tierOf(index),
    c_dob: dayAt(-(18 * 365 + integerAt(seed + 2, LANE.customer, index, 60 * 365))),
    c_ad_id: customerAddressId(index, customers / 2),
    c_ctry_1: '1',
    c_area_1: area1,
    c_local_1: local1,
    c_ext_1: ext1,
    c_ctry_2: '1',
    c_area_2: area2,
    c_local_2: local2,
    c_ext_2: ext2,
    c_ctry_3: '1',
    c_area_3: area3,
    c_local_3: local3,
    c_ext_3: ext3,
    c_email_1: `${mail}@example.com`,
    c_email_2: `${mail}@mindspring.example`,
  };
}
