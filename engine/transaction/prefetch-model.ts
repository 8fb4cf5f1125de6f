/**
 * What transactions have gone on to read: "Percolator attempts to predict, each time a column is
 * read, what other columns in a row will be read later in the transaction. This prediction is made
 * based on past behavior" (section 2.5).
 *
 * The model counts, for each kind of transaction, table and column, the rows in which the column
 * was read, and in how many of them each other column was read later, after the column's answer had
 * come. (Columns read at the same time cannot be fetched ahead.) A column is guessed if it followed
 * in at least a quarter of the rows: a wrong guess costs bytes, a missing guess a round trip. The
 * counts are halved every so often, so that old behaviour counts less.
 *
 * The model learns only from transactions that have ended. What a transaction in flight will go on
 * to read is unknown, and hundreds that begin at the same time would teach that nothing ever
 * follows.
 *
 * One model serves all transactions of an open database. It is bounded: column names can be data,
 * and there may be millions.
 */

/** A column is guessed if it was read later in this share of the rows. */
const LIKELY = 1 / 4;
/**
 * At this many rows of a column its counts are halved; from then on, again after every half as many
 * rows.
 */
const ROWS_REMEMBERED = 64;
/** Columns learned about, and followers learned per column; more are ignored. */
const LEADERS_MAX = 10_000;
const FOLLOWERS_MAX = 64;
/** Columns guessed for one read: the storage's filters must not become too long. */
const GUESSES_MAX = 32;

interface Leader {
  /** Rows in which the column was read; halved with `followers`. */
  rows: number;
  /** In how many of them each other column was read later. */
  readonly followers: Map<string, number>;
}

/** The kind of transaction whose behaviour is learned, and the table. */
export interface ReadPattern {
  readonly kind: string;
  readonly table: string;
}

/** A column that was read, and the columns of its row that were answered when it was asked for. */
export interface ColumnRead {
  readonly column: string;
  readonly earlier: readonly string[];
}

export class PrefetchModel {
  readonly #leaders = new Map<string, Leader>();

  /** Learns from the columns of one row that a transaction, now ended, has read. */
  learn(place: ReadPattern, columnsRead: readonly ColumnRead[]): void {
    for (const { column } of columnsRead) this.#addRow(nameOf(place, column));
    for (const { column, earlier } of columnsRead) {
      for (const one of earlier) {
        const leader = this.#leaders.get(nameOf(place, one));
        if (leader !== undefined) addFollower(leader, column);
      }
    }
  }

  /** The columns that will probably be read after these, most probable first. */
  guess(place: ReadPattern, columns: readonly string[]): readonly string[] {
    const guesses = new Map<string, number>();
    for (const column of columns) {
      const leader = this.#leaders.get(nameOf(place, column));
      for (const [follower, rows] of leader?.followers ?? []) {
        const share = rows / (leader?.rows ?? 1);
        if (share >= LIKELY) guesses.set(follower, Math.max(share, guesses.get(follower) ?? 0));
      }
    }
    for (const column of columns) guesses.delete(column);
    const sorted = [...guesses].toSorted(([, a], [, b]) => b - a);
    return sorted.slice(0, GUESSES_MAX).map(([column]) => column);
  }

  #addRow(name: string): void {
    let leader = this.#leaders.get(name);
    if (leader === undefined) {
      if (this.#leaders.size >= LEADERS_MAX) return;
      leader = { rows: 0, followers: new Map() };
      this.#leaders.set(name, leader);
    }
    leader.rows++;
    if (leader.rows >= ROWS_REMEMBERED) halve(leader);
  }
}

function addFollower({ followers }: Leader, column: string): void {
  const rows = followers.get(column) ?? 0;
  if (rows > 0 || followers.size < FOLLOWERS_MAX) followers.set(column, rows + 1);
}

/** Halves the counts; a column that has not been seen for long makes room. */
function halve(leader: Leader): void {
  leader.rows /= 2;
  for (const [column, rows] of leader.followers) {
    if (rows < 1) leader.followers.delete(column);
    else leader.followers.set(column, rows / 2);
  }
}

function nameOf({ kind, table }: ReadPattern, column: string): string {
  return `${kind}\0${table}\0${column}`;
}
