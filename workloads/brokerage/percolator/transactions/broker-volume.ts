/** Broker-Volume on Percolator: what the requests of some brokers in one sector are worth. */
import type { BrokerVolumeInput, BrokerVolumeResult, Row } from '../../model/index.ts';
import type { KeyPart } from '../encoding.ts';
import type { RowReader } from '../rows.ts';

/**
 * Plan: from the sector down to its symbols, and of each the requests, of which those of other brokers are left out. A
 * sector has about 8 industries, 42 companies and 57 symbols in a load unit, and their keys are all that is read of
 * them. Not by broker: each has a hundredth of all customers, and so a tenth of all requests of a load unit.
 */
export async function brokerVolume(
  rows: RowReader,
  { brokerNames, sectorName }: BrokerVolumeInput,
): Promise<BrokerVolumeResult> {
  const [brokers, requests] = await Promise.all([
    brokersOf(rows, brokerNames),
    requestsIn(rows, sectorName),
  ]);
  const own = requests.filter(({ tr_b_id }) => brokers.has(tr_b_id));
  const byBroker = Map.groupBy(own, ({ tr_b_id }) => tr_b_id);
  const volumes = [...byBroker].map(([id, ofBroker]) => ({
    brokerName: brokers.get(id) ?? '',
    volume: ofBroker.reduce((sum, { tr_qty, tr_bid_price }) => sum + tr_qty * tr_bid_price, 0),
  }));
  const byName = (a: string, b: string): number => (a < b ? -1 : 1);
  return {
    volumes: volumes.toSorted((a, b) => b.volume - a.volume || byName(a.brokerName, b.brokerName)),
  };
}

/** Names by id, of those that there are. */
async function brokersOf(
  rows: RowReader,
  names: readonly string[],
): Promise<ReadonlyMap<KeyPart, string>> {
  const found = await Promise.all(names.map((name) => rows.scanKeys('broker', 'by_name', [name])));
  return new Map(found.flatMap((ids, i) => ids.map((id) => [id, names[i] ?? ''] as const)));
}

async function requestsIn(
  rows: RowReader,
  sectorName: string,
): Promise<readonly Row<'trade_request'>[]> {
  const [sectorId] = await rows.scanKeys('sector', 'by_name', [sectorName]);
  if (sectorId === undefined) return [];
  const symbols = await symbolsOfSector(rows, sectorId);
  const requests = await Promise.all(symbols.map((symbol) => rows.scan('trade_request', [symbol])));
  return requests.flat();
}

async function symbolsOfSector(rows: RowReader, sectorId: KeyPart): Promise<readonly KeyPart[]> {
  const industries = await rows.scanKeys('industry', 'by_sector', [sectorId]);
  const companies = await Promise.all(
    industries.map((id) => rows.scanKeys('company', 'by_industry', [id])),
  );
  const securities = await Promise.all(
    companies.flat().map((id) => rows.scanKeys('security', 'by_company', [id])),
  );
  return securities.flat();
}
