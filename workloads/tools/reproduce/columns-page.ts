/**
 * docs/columns.md: the columns of all CSV files, from the tables of the reference runs. `./run.sh
 * artifact` writes it, and a test compares it.
 *
 * A table of a run has its columns, what it is about, and which columns are measurements, with
 * their unit. So the page says nothing that the record does not.
 */
import { findRuns, REFERENCE_FOLDER, type ResultMetric, type ResultTable } from '#results';

const HEAD = `# The columns of all tables

<!-- Written by \`./run.sh artifact\` from the reference runs. -->

Each table of a run is also a CSV file, \`<name>.csv\`, in the folder of the run; all of them are in its record, whose shape is
[run.schema.json](run.schema.json). A measurement has a unit, and says whether more or less of it is better; \`compare\`
and \`runs --trend\` know it as \`table: row: column\`. An empty cell has no value. The words of a caption that depend on
the run are those of its newest reference run.
`;

interface Described {
  readonly experiment: string;
  readonly table: ResultTable;
}

export function columnsPage(root: string = REFERENCE_FOLDER): string {
  const tables = findRuns(root).flatMap(({ record }): readonly Described[] =>
    (record?.findings.tables ?? []).map((table) => ({
      experiment: record?.experiment ?? '',
      table,
    })),
  );
  const experiments = [...Map.groupBy(tables, ({ experiment }) => experiment)];
  const sections = experiments
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([experiment, some]) => sectionOf(experiment, some));
  return [HEAD, ...sections].join('\n');
}

function sectionOf(experiment: string, described: readonly Described[]): string {
  const byName = [...Map.groupBy(described, ({ table }) => table.name)];
  const tables = byName
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([, same]) => tableOf(same.map(({ table }) => table)));
  return [`## ${experiment}`, '', ...tables].join('\n');
}

/** @param same tables of one name, the newest first; some have columns that others have not */
function tableOf(same: readonly ResultTable[]): string {
  const [newest] = same;
  const columns = [...new Set(same.flatMap((table) => table.columns))];
  const rows = columns.map((column) => `| ${cell(column)} | ${meaningOf(column, same)} |`);
  return [
    `### ${newest?.name}.csv`,
    '',
    cell(`${newest?.title}. ${newest?.caption}`),
    '',
    '| Column | What it is |',
    '| --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

function meaningOf(column: string, tables: readonly ResultTable[]): string {
  const metrics = tables.flatMap(({ metrics: declared }) => declared?.columns ?? []);
  const own = metrics.find((metric) => metric.column === column);
  if (own !== undefined) return `measurement in ${cell(own.unit)}; ${own.better} is better`;
  const of = metrics.find(({ intervalColumns }) => intervalColumns?.includes(column));
  if (of !== undefined) return boundOf(column, of);
  const names = tables.some(({ columns, metrics: declared }) => {
    const at = columns.indexOf(column);
    return at >= 0 && at < (declared?.rowNames ?? 1);
  });
  return names ? 'names the row' : 'explains';
}

function boundOf(column: string, { column: measured, intervalColumns }: ResultMetric): string {
  const end = intervalColumns?.[0] === column ? 'lower' : 'upper';
  return `${end} end of the 95 % confidence interval of ${cell(measured)}`;
}

/** A text in one line, whose characters mean nothing to Markdown. */
function cell(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[|<>*_`]/g, String.raw`\$&`)
    .trim();
}
