/** All tables of the web index as one snapshot sees them, in memory. */
import type { Reader } from '#engine';
import type { Anchor, Capture, Link, RenderedPage, Resource, ServedPage } from '../model/index.ts';
import { cellOf, type Column } from '../percolator/columns.ts';
import {
  ANCHORS,
  CAPTURE,
  CLUSTER,
  DEPENDENTS,
  DEPENDS_ON,
  DOCUMENT,
  ELECTED,
  type Election,
  ENTRY,
  type ExportEntry,
  EXPORTED,
  FORM,
  LINKED,
  LINKS,
  LINKS_TO,
  MEMBERS,
  type PageDocument,
  RANK,
  REDIRECT,
  REDIRECTED,
  REDIRECTS_TO,
  RENDERED,
  RESOURCE,
  SERVED,
  SHARES,
  SOURCES,
  TEXTS,
  USERS,
} from '../percolator/tables.ts';

/** A column by row. */
type Cells<T> = ReadonlyMap<string, T>;

export interface IndexState {
  readonly captures: Cells<Capture>;
  readonly documents: Cells<PageDocument>;
  readonly links: Cells<readonly Link[]>;
  readonly resources: Cells<Resource>;
  readonly redirects: Cells<string>;
  readonly forms: Cells<string>;
  readonly rendered: Cells<RenderedPage>;
  readonly clusters: Cells<string>;
  readonly sources: Cells<readonly string[]>;
  readonly texts: Cells<readonly Anchor[]>;
  readonly ranks: Cells<number>;
  readonly shares: Cells<readonly number[]>;
  readonly anchors: Cells<readonly Anchor[]>;
  readonly elected: Cells<Election>;
  readonly entries: Cells<ExportEntry>;
  readonly served: Cells<ServedPage>;
  readonly exported: Cells<number>;
  /** What pages remember of the pairs that they have written. */
  readonly remembered: {
    readonly dependsOn: Cells<readonly string[]>;
    readonly redirectsTo: Cells<string>;
    readonly linksTo: Cells<readonly Link[]>;
  };
  /** By row, which joins the two halves of a pair (pairs.ts). */
  readonly pairs: {
    readonly dependents: Cells<true>;
    readonly redirected: Cells<true>;
    readonly linked: Cells<readonly string[]>;
    readonly users: Cells<true>;
    readonly members: Cells<true>;
  };
}

export async function readState(reader: Reader): Promise<IndexState> {
  const cells = <T>(column: Column<T>): Promise<Cells<T>> => readColumn(reader, column);
  return {
    captures: await cells(CAPTURE),
    documents: await cells(DOCUMENT),
    links: await cells(LINKS),
    resources: await cells(RESOURCE),
    redirects: await cells(REDIRECT),
    forms: await cells(FORM),
    rendered: await cells(RENDERED),
    clusters: await cells(CLUSTER),
    sources: await cells(SOURCES),
    texts: await cells(TEXTS),
    ranks: await cells(RANK),
    shares: await cells(SHARES),
    anchors: await cells(ANCHORS),
    elected: await cells(ELECTED),
    entries: await cells(ENTRY),
    served: await cells(SERVED),
    exported: await cells(EXPORTED),
    remembered: {
      dependsOn: await cells(DEPENDS_ON),
      redirectsTo: await cells(REDIRECTS_TO),
      linksTo: await cells(LINKS_TO),
    },
    pairs: {
      dependents: await cells(DEPENDENTS),
      redirected: await cells(REDIRECTED),
      linked: await cells(LINKED),
      users: await cells(USERS),
      members: await cells(MEMBERS),
    },
  };
}

async function readColumn<T>(reader: Reader, column: Column<T>): Promise<Cells<T>> {
  const { table, column: name } = cellOf(column, '');
  const cells = new Map<string, T>();
  for await (const { row, values } of reader.scan({ table, columns: [name] })) {
    const bytes = values.get(name);
    if (bytes !== undefined) cells.set(row, column.decode(bytes));
  }
  return cells;
}
