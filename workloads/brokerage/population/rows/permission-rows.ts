/**
 * The persons that may trade on an account: only the owner (60 %), one more person (38 %), or two
 * more (2 %).
 */
import type { Row } from '../../model/index.ts';
import { accountSerial, ownerOf } from '../ids.ts';
import { fractionAt, LANE } from '../lanes.ts';
import { person } from './person.ts';

/** The permissions of the owner, of the second person and of the third. */
const ACCESS_LISTS = ['0000', '0001', '0011'] as const;

/** The owner first. */
export function permissionRows(
  accountId: number,
  customers: number,
  seed: number,
): readonly Row<'account_permission'>[] {
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
