/**
 * Broker-Volume: for each of the brokers with pending requests in the sector, the sum of quantity ·
 * price over these requests, largest first, then by name.
 */
import type { TableRow } from '../model/tables.ts';
import type { KeyPart } from '../percolator/encoding.ts';
import type { RowReader } from '../percolator/rows.ts';

export interface BrokerVolumeInput {
  readonly brokerNames: readonly string[];
  readonly sectorName: string;
}

export interface BrokerVolumeResult {
  readonly volumes: readonly { readonly brokerName: string; readonly volume: number }[];
}

/**
 * In the small layout one scan reads the requests of the sector, and those of other brokers are
 * dropped. In the large one each broker has a scan: 20 to 40 scans, but of few requests each.
 */
export async function brokerVolume(
  rows: RowReader,
  { brokerNames, sectorName }: BrokerVolumeInput,
): Promise<BrokerVolumeResult> {
  const [brokers, sectorIds] = await Promise.all([
    brokersOf(rows, brokerNames),
    rows.scanKeys('sector', 'by_name', [sectorName]),
  ]);
  const requests = await requestsIn(rows, sectorIds, [...brokers.keys()]);
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

/** Names by id, of the brokers that exist. */
async function brokersOf(
  rows: RowReader,
  names: readonly string[],
): Promise<ReadonlyMap<KeyPart, string>> {
  const found = await Promise.all(names.map((name) => rows.scanKeys('broker', 'by_name', [name])));
  return new Map(found.flatMap((ids, i) => ids.map((id) => [id, names[i] ?? ''] as const)));
}

async function requestsIn(
  rows: RowReader,
  [sectorId]: readonly KeyPart[],
  brokerIds: readonly KeyPart[],
): Promise<readonly TableRow<'trade_request'>[]> {
  if (sectorId === undefined) return [];
  if (rows.layout === 'small') return rows.scan('trade_request', [sectorId]);
  const ofBrokers = brokerIds.map((id) =>
    rows.scanPath('trade_request', 'by_broker', [id, sectorId]),
  );
  return (await Promise.all(ofBrokers)).flat();
}
