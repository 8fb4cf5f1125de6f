/** Broker-Volume on Percolator: what the requests of some brokers in one sector are worth. */
import type { BrokerVolumeInput, BrokerVolumeResult } from '../../model/index.ts';
import type { RowReader } from '../rows.ts';

/**
 * Plan: from the brokers' requests to their symbols and from there up to the sector, as long as they are few; from the
 * sector down to its symbols otherwise. A sector has about 8 industries and 42 companies in a load unit.
 */
const SYMBOLS_FEW = 60;

export async function brokerVolume(
  rows: RowReader,
  { brokerNames, sectorName }: BrokerVolumeInput,
): Promise<BrokerVolumeResult> {
  const [sector] = await rows.scanPath('sector', 'by_name', [sectorName]);
  if (sector === undefined) return { volumes: [] };
  const found = await Promise.all(
    brokerNames.map((name) => rows.scanPath('broker', 'by_name', [name])),
  );
  const brokers = found.flat();
  const requests = await Promise.all(
    brokers.map(({ b_id }) => rows.scanPath('trade_request', 'by_broker', [b_id])),
  );
  const symbols = new Set(requests.flat().map(({ tr_s_symb }) => tr_s_symb));
  const inSector =
    symbols.size <= SYMBOLS_FEW
      ? await thoseInSector(rows, symbols, sector.sc_id)
      : await symbolsOfSector(rows, sector.sc_id);
  const volumes = brokers.flatMap(({ b_name }, i) => {
    const own = (requests[i] ?? []).filter(({ tr_s_symb }) => inSector.has(tr_s_symb));
    const volume = own.reduce((sum, { tr_qty, tr_bid_price }) => sum + tr_qty * tr_bid_price, 0);
    return own.length === 0 ? [] : [{ brokerName: b_name, volume }];
  });
  const byName = (a: string, b: string): number => (a < b ? -1 : 1);
  return {
    volumes: volumes.toSorted((a, b) => b.volume - a.volume || byName(a.brokerName, b.brokerName)),
  };
}

async function thoseInSector(
  rows: RowReader,
  symbols: ReadonlySet<string>,
  sectorId: string,
): Promise<ReadonlySet<string>> {
  const securities = await rows.byKey('security', symbols);
  const companies = await rows.byKey(
    'company',
    [...securities.values()].map((one) => one.s_co_id),
  );
  const industries = await rows.byKey(
    'industry',
    [...companies.values()].map((one) => one.co_in_id),
  );
  const inSector = [...symbols].filter((symbol) => {
    const company = companies.get(securities.get(symbol)?.s_co_id ?? 0);
    return industries.get(company?.co_in_id ?? '')?.in_sc_id === sectorId;
  });
  return new Set(inSector);
}

async function symbolsOfSector(rows: RowReader, sectorId: string): Promise<ReadonlySet<string>> {
  const industries = await rows.scanPath('industry', 'by_sector', [sectorId]);
  const companies = await Promise.all(
    industries.map(({ in_id }) => rows.scanPath('company', 'by_industry', [in_id])),
  );
  const securities = await Promise.all(
    companies.flat().map(({ co_id }) => rows.scanPath('security', 'by_company', [co_id])),
  );
  return new Set(securities.flat().map(({ s_symb }) => s_symb));
}
