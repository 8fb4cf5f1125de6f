/**
 * The clustering as three grouped queries of DuckDB, a plain SQL engine: the same phases, from the
 * same files into the same lines. A process of its own, so that its start and its processor time
 * can be measured.
 *
 * Argument: a JSON object with inputs (paths), output (a file), threads, memoryBytes and folder
 * (for what does not fit in memory).
 */
import { DuckDBInstance } from '@duckdb/node-api';

interface Task {
  readonly inputs: readonly string[];
  readonly output: string;
  readonly threads: number;
  readonly memoryBytes: number;
  readonly folder: string;
}

const task = JSON.parse(process.argv[2] ?? '') as Task;
const instance = await DuckDBInstance.create(':memory:', {
  threads: String(task.threads),
  memory_limit: `${Math.ceil(task.memoryBytes / 1024)}KiB`,
  temp_directory: task.folder,
  preserve_insertion_order: 'false',
});
const connection = await instance.connect();
await connection.run(clusteringSql(task));
connection.closeSync();

/** Compares texts as bytes, as the jobs do. A field may hold anything but a tab and a newline. */
function clusteringSql({ inputs, output }: Task): string {
  const fields = ['id', 'key1', 'key2', 'key3', 'url', 'contents'];
  const columns = fields.map((name) => `'${name}': 'VARCHAR'`).join(', ');
  const format = String.raw`auto_detect = false, header = false, delim = '\t', quote = '', escape = '', new_line = '\n'`;
  return `
    COPY (
      WITH phase1 AS (
        SELECT min(id) AS id, arg_min(key2, id) AS key2, arg_min(key3, id) AS key3, list(id) AS ids
        FROM read_csv([${inputs.map(sqlText).join(', ')}], columns = {${columns}}, ${format})
        GROUP BY key1
      ), phase2 AS (
        SELECT min(id) AS id, arg_min(key3, id) AS key3, flatten(list(ids)) AS ids
        FROM phase1 GROUP BY key2
      ), phase3 AS (
        SELECT min(id) AS id, flatten(list(ids)) AS ids FROM phase2 GROUP BY key3
      )
      SELECT array_to_string(list_prepend(id, list_filter(ids, lambda other: other <> id)), chr(9))
      FROM phase3
    ) TO ${sqlText(output)} (FORMAT csv, HEADER false, DELIMITER '', QUOTE '', ESCAPE '')`;
}

function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
