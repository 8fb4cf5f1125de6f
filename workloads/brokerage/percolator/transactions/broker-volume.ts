/** Broker-Volume on Percolator: what the requests of some brokers in one sector are worth. */
import type { BrokerVolumeInput, BrokerVolumeResult, Row } from '../../model/index.ts';
import type { KeyPart } from '../encoding.ts';
import type { RowReader } from '../rows.ts';

/**
 * Plan: from the brokers' requests to their symbols and from there up to the sector, as long as they are few; from the
 * sector down to its symbols otherwise. A sector has about 8 industries and 42 companies in a load unit, and
 * their keys are all that is read of them.
 */
const SYMBOLS_FEW = 20;

export async function brokerVolume(
  rows: RowReader,
  { brokerNames, sectorName }: BrokerVolumeInput,
): Promise<BrokerVolumeResult> {
  const [sectorId] = await rows.scanKeys('sector', 'by_name', [sectorName]);
  if (sectorId === undefined) return { volumes: [] };
  const pending = await Promise.all(brokerNames.map((name) => requestsOf(rows, name)));
  const symbols = new Set(pending.flatMap(({ requests }) => requests.map((one) => one.tr_s_symb)));
  const inSector =
    symbols.size <= SYMBOLS_FEW
      ? await thoseInSector(rows, symbols, sectorId)
      : await symbolsOfSector(rows, sectorId);
  const volumes = pending.flatMap(({ brokerName, requests }) => {
    const own = requests.filter(({ tr_s_symb }) => inSector.has(tr_s_symb));
    const volume = own.reduce((sum, { tr_qty, tr_bid_price }) => sum + tr_qty * tr_bid_price, 0);
    return own.length === 0 ? [] : [{ brokerName, volume }];
  });
  const byName = (a: string, b: string): number => (a < b ? -1 : 1);
  return {
    volumes: volumes.toSorted((a, b) => b.volume - a.volume || byName(a.brokerName, b.brokerName)),
  };
}

interface Pending {
  readonly brokerName: string;
  readonly requests: readonly Row<'trade_request'>[];
}

/** None if there is no such broker. */
async function requestsOf(rows: RowReader, brokerName: string): Promise<Pending> {
  const [brokerId] = await rows.scanKeys('broker', 'by_name', [brokerName]);
  if (brokerId === undefined) return { brokerName, requests: [] };
  return { brokerName, requests: await rows.scanPath('trade_request', 'by_broker', [brokerId]) };
}

async function thoseInSector(
  rows: RowReader,
  symbols: ReadonlySet<string>,
  sectorId: KeyPart,
): Promise<ReadonlySet<KeyPart>> {
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

async function symbolsOfSector(rows: RowReader, sectorId: KeyPart): Promise<ReadonlySet<KeyPart>> {
  const industries = await rows.scanKeys('industry', 'by_sector', [sectorId]);
  const companies = await Promise.all(
    industries.map((id) => rows.scanKeys('company', 'by_industry', [id])),
  );
  const securities = await Promise.all(
    companies.flat().map((id) => rows.scanKeys('security', 'by_company', [id])),
  );
  return new Set(securities.flat());
}
