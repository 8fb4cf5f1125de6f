/** The sector of a security, found through its company and that company's industry. */
import type { Row } from '../model/index.ts';

/** The sector's id, by symbol. */
export function sectorsBySymbol(
  securities: Iterable<Row<'security'>>,
  companies: Iterable<Row<'company'>>,
  industries: Iterable<Row<'industry'>>,
): ReadonlyMap<string, string> {
  const ofIndustry = new Map(Iterator.from(industries).map((one) => [one.in_id, one.in_sc_id]));
  const ofCompany = new Map(
    Iterator.from(companies).map((one) => [one.co_id, ofIndustry.get(one.co_in_id) ?? '']),
  );
  return new Map(
    Iterator.from(securities).map((one) => [one.s_symb, ofCompany.get(one.s_co_id) ?? '']),
  );
}
