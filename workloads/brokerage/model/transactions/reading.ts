/**
 * The transactions that only read, except Trade-Lookup: what customers and brokers look at.
 *
 * Lists are fully ordered, so that two systems return the same: where the named order leaves ties,
 * ids or symbols decide, smallest first unless stated otherwise.
 */

/**
 * Broker-Volume: for each of the brokers with pending requests in the sector, the sum of quantity ·
 * price over these requests, largest first, then by name.
 */
export interface BrokerVolumeInput {
  readonly brokerNames: readonly string[];
  readonly sectorName: string;
}

export interface BrokerVolumeResult {
  readonly volumes: readonly { readonly brokerName: string; readonly volume: number }[];
}

/**
 * Customer-Position. Frame 1: the customer, by id or by tax id, and the accounts with balance and
 * `assets` (positions at LAST_TRADE's prices, without the balance), lowest assets first, at most
 * 10. Frame 2, if `historyOf` is given: the 10 newest trades (by T_DTS, then id, descending) of the
 * account at that index (modulo the number of accounts), each with its history: at most 30 lines,
 * newest trade first and its newest status first (by TH_DTS, then TH_ST_ID, descending).
 */
export interface CustomerPositionInput {
  readonly customer: { readonly id: number } | { readonly taxId: string };
  readonly historyOf: number | null;
}

export interface CustomerPositionResult {
  readonly frame1: {
    readonly customerId: number;
    readonly taxId: string;
    readonly statusId: string;
    readonly lastName: string;
    readonly firstName: string;
    readonly middleName: string;
    readonly gender: string;
    readonly tier: number;
    readonly birthday: number;
    readonly addressId: number;
    /** Country, area, local and extension of the three phones. */
    readonly phones: readonly (readonly [string, string, string, string])[];
    readonly emails: readonly [string, string];
    readonly accounts: readonly {
      readonly accountId: number;
      readonly balance: number;
      readonly assets: number;
    }[];
  };
  readonly frame2:
    | readonly {
        readonly tradeId: number;
        readonly symbol: string;
        readonly quantity: number;
        readonly statusName: string;
        readonly time: number;
      }[]
    | null;
}

/**
 * Market-Watch: the value of a list of securities now and on a past day (sums of S_NUM_OUT ·
 * price). The list has the symbols of all the customer's watch lists; of all positions of an
 * account; or of the active securities of an industry's companies in a range of company ids
 * (inclusive). Symbols without a DAILY_MARKET row of the day are left out.
 */
export interface MarketWatchInput {
  readonly list:
    | { readonly kind: 'watch list'; readonly customerId: number }
    | { readonly kind: 'account'; readonly accountId: number }
    | {
        readonly kind: 'industry';
        readonly industryName: string;
        readonly firstCompanyId: number;
        readonly lastCompanyId: number;
      };
  readonly day: number;
}

export interface MarketWatchResult {
  readonly symbols: number;
  readonly capitalizationNow: number;
  readonly capitalizationThen: number;
}

/**
 * Security-Detail: everything about a security. Three competitors (by company id, then industry
 * id), the first 20 quarters (by year and quarter), `dayCount` days from `firstDay`, two news items
 * (by id; the body, or headline and summary).
 */
export interface SecurityDetailInput {
  readonly symbol: string;
  readonly firstDay: number;
  readonly dayCount: number;
  readonly withNewsBodies: boolean;
}

export interface AddressLines {
  readonly line1: string;
  readonly line2: string;
  readonly town: string;
  readonly division: string;
  readonly zipCode: string;
  readonly country: string;
}

export interface SecurityDetailResult {
  readonly security: {
    readonly name: string;
    readonly sharesOut: number;
    readonly startDate: number;
    readonly exchangeDate: number;
    readonly priceToEarnings: number;
    readonly yearHigh: number;
    readonly yearHighDate: number;
    readonly yearLow: number;
    readonly yearLowDate: number;
    readonly dividend: number;
    readonly yield: number;
  };
  readonly company: {
    readonly id: number;
    readonly name: string;
    readonly rating: string;
    readonly chiefExecutive: string;
    readonly description: string;
    readonly openDate: number;
    readonly statusId: string;
    readonly address: AddressLines;
  };
  readonly exchange: {
    readonly name: string;
    readonly symbols: number;
    readonly open: number;
    readonly close: number;
    readonly description: string;
    readonly address: AddressLines;
  };
  readonly competitors: readonly { readonly name: string; readonly industryName: string }[];
  readonly financials: readonly {
    readonly year: number;
    readonly quarter: number;
    readonly startDate: number;
    readonly revenue: number;
    readonly netEarnings: number;
    readonly basicEarningsPerShare: number;
    readonly dilutedEarningsPerShare: number;
    readonly margin: number;
    readonly inventory: number;
    readonly assets: number;
    readonly liabilities: number;
    readonly basicSharesOut: number;
    readonly dilutedSharesOut: number;
  }[];
  readonly days: readonly {
    readonly day: number;
    readonly close: number;
    readonly high: number;
    readonly low: number;
    readonly volume: number;
  }[];
  readonly lastTrade: {
    readonly price: number;
    readonly openPrice: number;
    readonly volume: number;
  };
  readonly news: readonly {
    /** Empty unless bodies were requested; then headline and summary are empty. */
    readonly body: string;
    readonly headline: string;
    readonly summary: string;
    readonly time: number;
    readonly source: string;
    readonly author: string;
  }[];
}

/**
 * Trade-Status: the owner, the broker, and the 50 newest trades of an account (T_DTS, then id,
 * descending).
 */
export interface TradeStatusInput {
  readonly accountId: number;
}

export interface TradeStatusResult {
  readonly customerFirstName: string;
  readonly customerLastName: string;
  readonly brokerName: string;
  readonly trades: readonly {
    readonly tradeId: number;
    readonly time: number;
    readonly statusName: string;
    readonly tradeTypeName: string;
    readonly symbol: string;
    readonly quantity: number;
    readonly executorName: string;
    readonly charge: number;
    readonly securityName: string;
    readonly exchangeName: string;
  }[];
}
