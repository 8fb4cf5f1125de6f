/**
 * Sends operations on rows to the servers of their regions, many of one server in one `Multi` call,
 * and again where that is safe.
 *
 *     operations ──▶ by region and server ──▶ Multi ──▶ answered      ──▶ the caller
 *          ▲                                      └───▶ may be repeated: rest, find the region again
 *          └──────────────────────────────────────────────┘
 *
 * Each operation is answered on its own: of one call some may succeed, and others find that their
 * region has moved (P65). A conditional operation is sent again only if it was never sent, or the
 * server said that it touched nothing (failures.ts).
 */
import { type Clock, hasCode, isWithin, momentOf, PercolatorError } from '../../base/index.ts';
import { asFailure, errorOf, HBaseFailure, mayRepeat, type Purpose } from './failures.ts';
import {
  type Action,
  DELETE,
  messageOf,
  type MultiResponse,
  MUTATION,
  type NamedBytes,
  type RegionAction,
  type Result,
  type ResultOrException,
  type ScanBounds,
  type ScanRequest,
  type ScanResponse,
} from './messages.ts';
import type { Region, Regions } from './regions.ts';
import type { Servers } from './servers.ts';

const REST_MS_MIN = 10;
const REST_MS_MAX = 300;
/** Operations per call, so that an answer arrives well before its deadline. */
const OPERATIONS_MAX = 1000;
/**
 * Bytes per call, if it has several operations. HBase refuses a call of 256 MB
 * (hbase.ipc.max.request.size), with all that is in it.
 */
const BYTES_MAX = 4 << 20;
const NEVER_USED = Buffer.from('percolator: who owns this region?');
const NO_RESULT: Result = { cell: [] };

export interface Operation {
  readonly table: string;
  readonly row: Buffer;
  /** A family that the table has. */
  readonly family: string;
  /** One; or two, a Put and a Delete of the row, which are applied in one step. */
  readonly actions: readonly Action[];
  /** Whether a call of the endpoint mutates something if its conditions hold. Default true. */
  readonly isWriting?: boolean | undefined;
}

/**
 * A `Get` is answered by `result`, which is empty for all others; `isApplied` says of a mutation,
 * or of a call of the endpoint, whether it was applied. `isWritten` says whether that wrote to the
 * server's log, which only the owner of the region can.
 */
export interface OperationAnswer {
  readonly result: Result;
  readonly isApplied: boolean;
  readonly isWritten: boolean;
}

export interface ScanPage {
  readonly results: readonly Result[];
  readonly region: Region;
  /** Whether the region has no more rows of the scan. */
  readonly isWhole: boolean;
}

export interface CallsOptions {
  readonly servers: Servers;
  readonly regions: Regions;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Sends no mutations, not even for a proof (servers.ts). */
  readonly readOnly: boolean;
}

type OperationOutcome = OperationAnswer | HBaseFailure | PercolatorError;

interface Located {
  readonly index: number;
  readonly operation: Operation;
  readonly region: Region;
}

export class Calls {
  readonly #options: CallsOptions;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /** An answer or an error for each operation. */
  async run(
    operations: readonly Operation[],
    purpose: Purpose,
  ): Promise<readonly (OperationAnswer | PercolatorError)[]> {
    const answers: (OperationAnswer | PercolatorError)[] = [];
    const inDoubt = new Set<number>();
    let left = [...operations.keys()];
    await this.#retry(purpose, async (timeoutMs) => {
      const asked = left.map((index) => ({ index, operation: operations[index] as Operation }));
      const outcomes = await this.#attempt(asked, timeoutMs);
      left = left.filter((index, i) => {
        const outcome = outcomes[i] as OperationOutcome;
        const answer = answerOf(outcome, operations[index] as Operation, purpose);
        const isDoubtful = hasCode(answer, 'STORE_IN_DOUBT');
        if (isDoubtful) inDoubt.add(index);
        answers[index] =
          answer instanceof PercolatorError && inDoubt.has(index) ? asInDoubt(answer) : answer;
        return mayRepeat(outcome, purpose);
      });
      for (const index of left) {
        this.#options.regions.forget((operations[index] as Operation).table);
      }
      return left.length === 0;
    });
    return answers;
  }

  /**
   * Rows of the region where the scan starts, as the request says.
   * @throws PercolatorError
   */
  async scan(
    { table, family }: Pick<Operation, 'table' | 'family'>,
    request: ScanRequest & { readonly scan: ScanBounds },
  ): Promise<ScanPage> {
    const { regions } = this.#options;
    let failure: unknown;
    let found: ScanPage | undefined;
    await this.#retry('read', async (timeoutMs) => {
      try {
        const region = await regionOf(regions, table, request.scan);
        found = { ...(await this.#scanRegion(region, { request, family }, timeoutMs)), region };
        return true;
      } catch (error) {
        failure = error;
        regions.forget(table);
        return !mayRepeat(error, 'read');
      }
    });
    if (found !== undefined) return found;
    throw errorOf(failure, 'read', `reading ${table}`);
  }

  /** The server may answer with fewer rows than asked for; the rest must be asked for again. */
  async #scanRegion(
    region: Region,
    { request, family }: { readonly request: ScanRequest; readonly family: string },
    timeoutMs: number,
  ): Promise<Omit<ScanPage, 'region'>> {
    const { servers } = this.#options;
    const { address } = region;
    const [type, response] = [messageOf('ScanRequest'), messageOf<ScanResponse>('ScanResponse')];
    const connection = servers.connection(address, 'ClientService');
    const results: Result[] = [];
    let value: ScanRequest = { ...request, region: region.specifier };
    for (let nextCallSeq = 0; ; nextCallSeq++) {
      const answer = await connection.call('Scan', { type, value, response }, timeoutMs);
      results.push(...answer.results);
      const isEnough = results.length >= request.numberOfRows;
      // `moreResults` is also false when as many rows came as were asked for.
      const isEnd = answer.moreResults === false && !isEnough;
      const isWhole = isEnd || answer.moreResultsInRegion !== true;
      if (isWhole || isEnough) {
        if (!canHaveRows(region)) return { results, isWhole };
        await this.#confirm(region, { row: inRegion(region), family });
        return { results, isWhole };
      }
      const numberOfRows = request.numberOfRows - results.length;
      // So that the server closes the scan when the limit is reached.
      const limitOfRows = numberOfRows;
      value = { scannerId: answer.scannerId, numberOfRows, limitOfRows, nextCallSeq };
    }
  }

  async #attempt(
    asked: readonly { readonly index: number; readonly operation: Operation }[],
    timeoutMs: number,
  ): Promise<readonly OperationOutcome[]> {
    const { regions, clock } = this.#options;
    const begun = momentOf(clock);
    const outcomes = new Map<number, OperationOutcome>();
    const located = new Map<string, Located[]>();
    // In one turn: if regions cannot be found, all rows of a table wait for the same search.
    const finding = asked.map(({ operation: { table, row } }) => regions.find(table, row));
    const found = await Promise.all(finding.map((one) => one.catch(asFailure)));
    for (const [i, { index, operation }] of asked.entries()) {
      const region = found[i] as Region | HBaseFailure | PercolatorError;
      if (region instanceof Error) outcomes.set(index, region);
      else {
        const some = located.get(region.address) ?? [];
        some.push({ index, operation, region });
        located.set(region.address, some);
      }
    }
    // Looking for regions may have taken longer than the call may take.
    const leftMs = begun.monotonicMs + timeoutMs - clock.monotonicMs();
    if (!isWithin(clock, timeoutMs, begun)) {
      const failure = new HBaseFailure('unsent', 'no region was found in time');
      return asked.map(({ index }) => outcomes.get(index) ?? failure);
    }
    const calls = [...located].flatMap(([address, some]) =>
      chunks(some).map(async (chunk) => {
        const answered = await this.#call(address, chunk, leftMs);
        chunk.forEach(({ index }, i) => outcomes.set(index, answered[i] as OperationOutcome));
      }),
    );
    await Promise.all(calls);
    return asked.map(({ index }) => outcomes.get(index) as OperationOutcome);
  }

  async #call(
    address: string,
    operations: readonly Located[],
    timeoutMs: number,
  ): Promise<readonly OperationOutcome[]> {
    const { servers, clock } = this.#options;
    const { regionAction, places } = requestOf(operations);
    const message = {
      type: messageOf('MultiRequest'),
      value: { regionAction },
      response: messageOf<MultiResponse>('MultiResponse'),
    };
    const sent = momentOf(clock);
    try {
      const connection = servers.connection(address, 'ClientService');
      const answer = await connection.call('Multi', message, timeoutMs);
      const outcomes = places.map((place) => outcomeOf(answer, place));
      if (outcomes.some(isWritten)) servers.applied(address, sent);
      const first = operations.find((_, i) => isSeen(outcomes[i]));
      if (first === undefined) return outcomes;
      const failure = await this.#confirmed(first);
      return failure === undefined
        ? outcomes
        : outcomes.map((outcome) => (isSeen(outcome) ? failure : outcome));
    } catch (error) {
      const failure = asFailure(error);
      return operations.map(() => failure);
    }
  }

  /** The failure that replaces all that was read, if the server may not own the region. */
  async #confirmed({ operation, region }: Located): Promise<HBaseFailure | undefined> {
    try {
      await this.#confirm(region, operation);
      return undefined;
    } catch (error) {
      // Nothing was applied, so a conditional mutation may be sent again as well.
      return new HBaseFailure(
        'unsent',
        `its server may be out of date: ${asFailure(error).message}`,
      );
    }
  }

  async #confirm(
    { address, specifier }: Region,
    { row, family }: Pick<Operation, 'row' | 'family'>,
  ): Promise<void> {
    const { servers, readOnly, timeoutMs } = this.#options;
    if (readOnly) return;
    await servers.confirm(address, async () => {
      const type = messageOf('MutateRequest');
      const value = { region: specifier, mutation: harmless(row, family) };
      const response = messageOf('MutateResponse');
      const connection = servers.connection(address, 'ClientService');
      await connection.call('Mutate', { type, value, response }, timeoutMs / 2);
    });
  }

  /**
   * Calls `attempt` until it resolves to true, or the deadline has passed. Calls that may be
   * repeated wait half of the time for an answer, so that there is a second try after a server that
   * stands still.
   */
  async #retry(purpose: Purpose, attempt: (timeoutMs: number) => Promise<boolean>): Promise<void> {
    const { clock, timeoutMs } = this.#options;
    const patienceMs = purpose === 'conditional' ? timeoutMs : timeoutMs / 2;
    const begun = momentOf(clock);
    for (let restMs = REST_MS_MIN; ; restMs = Math.min(2 * restMs, REST_MS_MAX)) {
      const leftMs = begun.monotonicMs + timeoutMs - clock.monotonicMs();
      if (await attempt(Math.max(1, Math.min(leftMs, patienceMs)))) return;
      if (!isWithin(clock, timeoutMs - restMs, begun)) return;
      await clock.sleep(restMs);
      // Checked again after the rest, during which the process may have been suspended.
      if (!isWithin(clock, timeoutMs, begun)) return;
    }
  }
}

/** Where the answer of an operation is: one action, or a region action of its own. */
interface AnswerPlace {
  readonly regionIndex: number;
  readonly index: number;
  readonly isConditional: boolean;
  /** Whether it mutates something, if it is applied. */
  readonly isWriting: boolean;
}

function requestOf(operations: readonly Located[]): {
  readonly regionAction: readonly RegionAction[];
  readonly places: readonly AnswerPlace[];
} {
  const regionAction: (RegionAction & { action: Action[] })[] = [];
  const shared = new Map<Region, number>();
  const places = operations.map(({ operation, region }): AnswerPlace => {
    const { actions, isWriting = actions[0]?.get === undefined } = operation;
    const isAtomic = actions.length > 1;
    let regionIndex = isAtomic ? undefined : shared.get(region);
    if (regionIndex === undefined) {
      regionIndex = regionAction.length;
      regionAction.push({ region: region.specifier, atomic: isAtomic, action: [] });
      if (!isAtomic) shared.set(region, regionIndex);
    }
    const { action } = regionAction[regionIndex] as { action: Action[] };
    const index = action.length;
    for (const some of actions) action.push({ ...some, index: action.length });
    const isConditional = actions[0]?.serviceCall !== undefined;
    return { regionIndex, index, isConditional, isWriting };
  });
  return { regionAction, places };
}

function outcomeOf({ regionActionResult }: MultiResponse, place: AnswerPlace): OperationOutcome {
  const region = regionActionResult[place.regionIndex];
  if (region === undefined) return new HBaseFailure('lost', 'the answer lacks a region');
  if (region.exception) return exceptionOf(region.exception);
  const some = region.resultOrException;
  const answer: ResultOrException | undefined =
    (some[place.index]?.index ?? 0) === place.index
      ? some[place.index]
      : some.find(({ index = 0 }) => index === place.index);
  if (answer === undefined) return new HBaseFailure('lost', 'the answer lacks an operation');
  if (answer.exception) return exceptionOf(answer.exception);
  if (!place.isConditional) {
    const isApplied = place.isWriting;
    return { result: answer.result ?? NO_RESULT, isApplied, isWritten: isApplied };
  }
  const bytes = answer.serviceResult?.value?.value;
  if (bytes === undefined) return new HBaseFailure('lost', 'the answer lacks its result');
  const { processed = false } = messageOf<{ processed?: boolean }>('MutateRowsResponse').decode(
    bytes,
  );
  return { result: NO_RESULT, isApplied: processed, isWritten: processed && place.isWriting };
}

function exceptionOf({ name, value = new Uint8Array() }: NamedBytes): HBaseFailure {
  return HBaseFailure.ofException(name, Buffer.from(value).toString());
}

function answerOf(
  outcome: OperationOutcome,
  { table, row }: Operation,
  purpose: Purpose,
): OperationAnswer | PercolatorError {
  if (!(outcome instanceof Error)) return outcome;
  const doing = purpose === 'read' ? 'reading' : 'mutating';
  return errorOf(outcome, purpose, `${doing} ${table}/${row.toString()}`);
}

function asInDoubt(error: PercolatorError): PercolatorError {
  if (error.code === 'STORE_IN_DOUBT') return error;
  return new PercolatorError('STORE_IN_DOUBT', error.message, { cause: error.cause });
}

function isWritten(outcome: OperationOutcome): boolean {
  return !(outcome instanceof Error) && outcome.isWritten;
}

/**
 * Whether the answer tells what was in a row: it is worth something only from the region's owner.
 */
function isSeen(outcome: OperationOutcome | undefined): boolean {
  return outcome !== undefined && !(outcome instanceof Error) && !outcome.isWritten;
}

/** Deletes a version that is never there: a mutation without an effect, which the log must take. */
function harmless(row: Buffer, family: string): object {
  const value = { qualifier: NEVER_USED, timestamp: 0, deleteType: DELETE.oneVersion };
  const columnValue = [{ family: Buffer.from(family), qualifierValue: [value] }];
  return { row, mutateType: MUTATION.delete, columnValue };
}

/** The region where the scan starts. */
function regionOf(
  regions: Regions,
  table: string,
  { startRow, reversed = false }: ScanBounds,
): Promise<Region> {
  const row = Buffer.from(startRow);
  return reversed ? regions.findBefore(table, row) : regions.find(table, row);
}

/** The first row that it can have: no row has an empty key. */
function inRegion({ start }: Region): Buffer {
  return start.length > 0 ? start : Buffer.alloc(1);
}

/** Not if it ends at `\0`: then it has nothing to read, and no row to prove its owner with. */
function canHaveRows(region: Region): boolean {
  return region.end.length === 0 || Buffer.compare(inRegion(region), region.end) < 0;
}

function chunks(operations: readonly Located[]): readonly (readonly Located[])[] {
  const made: Located[][] = [];
  let chunk: Located[] = [];
  let bytes = 0;
  for (const one of operations) {
    const more = bytesOf(one.operation);
    if (made.length === 0 || chunk.length === OPERATIONS_MAX || bytes + more > BYTES_MAX) {
      made.push((chunk = []));
      bytes = 0;
    }
    chunk.push(one);
    bytes += more;
  }
  return made;
}

/** About how much it adds to a call. */
function bytesOf({ actions }: Operation): number {
  let bytes = 0;
  for (const { mutation, serviceCall } of actions) {
    bytes += serviceCall?.request.length ?? 0;
    for (const { qualifierValue } of mutation?.columnValue ?? []) {
      for (const { qualifier, value } of qualifierValue) {
        bytes += qualifier.length + (value?.length ?? 0);
      }
    }
  }
  return bytes;
}
