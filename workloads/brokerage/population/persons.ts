/**
 * Persons: customers, computed from their index alone, and the persons that they let trade for
 * them. Each person has a number, and from it a name and a tax id.
 */
import { fractionAt, integerAt } from '../../harness/chance.ts';
import { tierOf } from '../model/customer-skew.ts';
import type { TableRow } from '../model/tables.ts';
import { dayAt } from './calendar.ts';
import { accountSerial, ID_SHIFT, LANE, ownerOf } from './ids.ts';
import { FIRST_NAMES, LAST_NAMES } from './words.ts';

interface Person {
  readonly firstName: string;
  readonly middleName: string;
  readonly lastName: string;
  readonly taxId: string;
}

/** Customers have their index as number; the numbers after these are for others. */
function person(number: number, seed: number): Person {
  const [first, last, middle] = [0, 1, 2].map((n) =>
    fractionAt(seed + n, LANE.customerName, number),
  ) as [number, number, number];
  return {
    firstName: pick(FIRST_NAMES, first),
    middleName: String.fromCharCode(65 + Math.floor(middle * 26)),
    lastName: pick(LAST_NAMES, last),
    // A permutation of the numbers of nine digits: tax ids are unique, and neighbours far apart.
    taxId: String((number * 7_654_321 + 123_456_789) % 1_000_000_000).padStart(9, '0'),
  };
}

export function pick(words: readonly string[], fraction: number): string {
  return words[Math.floor(fraction * words.length)] ?? '';
}

/** Address ids: those of the 4 exchanges, of the companies, and then of the customers. */
function customerAddressId(index: number, companies: number): number {
  return ID_SHIFT + 4 + companies + index + 1;
}

export function customerRow(index: number, customers: number, seed: number): TableRow<'customer'> {
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

/*
 * The persons that may trade on an account: only the owner (60 %), one more person (38 %), or two
 * more (2 %).
 */

/** The permissions of the owner, of the second person and of the third. */
const ACCESS_LISTS = ['0000', '0001', '0011'] as const;

/** The owner first. */
export function permissionRows(
  accountId: number,
  customers: number,
  seed: number,
): readonly TableRow<'account_permission'>[] {
  const draw = fractionAt(seed, LANE.permissions, accountId);
  const others = draw < 0.6 ? 0 : draw < 0.98 ? 1 : 2;
  return ACCESS_LISTS.slice(0, others + 1).map((ap_acl, i) => {
    const number = i === 0 ? ownerOf(accountId) : customers + accountSerial(accountId) * 2 + i - 1;
    const { firstName, lastName, taxId } = person(number, seed);
    return {
      ap_ca_id: accountId,
      ap_acl,
      ap_tax_id: taxId,
      ap_l_name: lastName,
      ap_f_name: firstName,
    };
  });
}
