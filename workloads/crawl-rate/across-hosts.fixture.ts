/**
 * bench:crawl-rate across hosts, in network namespaces: the first argument is how many, the others
 * are options of the script. HBase, in one process, is on the first host, an agent on each, and the
 * script where this process is. Prints how the script and the agents ended.
 */
import path from 'node:path';
import process from 'node:process';
import { execa, execaNode } from 'execa';
import { startHBase } from '#engine';
import { isInside, obeyOutside, runInside } from '../harness/hosts/inside.ts';
import { HostNetwork } from '../harness/hosts/network.ts';
import { cpuSecondsOf } from '../harness/processes/processor-time.ts';

const MAIN = path.join(import.meta.dirname, 'main.ts');
const AGENT = path.join(import.meta.dirname, '../tools/agent/main.ts');
const LISTEN = '10.77.0.254:7454';

if (!isInside()) process.exitCode = await runInside(new AbortController().signal);
else {
  obeyOutside();
  const [count = '', ...words] = process.argv.slice(2);
  const { hosts } = await HostNetwork.make(Number(count));
  const [first] = hosts;
  if (first === undefined) throw new Error('there must be a host');
  const { env: environment } = process;
  const placeOf = (): typeof first => first;
  // On a busy machine a pause of some seconds is no death of its only server.
  const options = { regionServers: 0, sessionTimeoutMs: 60_000, placeOf };
  await using hbase = await startHBase({ ...options, environment });
  const store = `hbase://${hbase.servers.join()}?sessionTimeoutMs=${hbase.sessionTimeoutMs}`;
  const across = ['--hosts', count, '--listen', LISTEN, '--store', store];
  const script = execaNode(MAIN, [...across, ...words], { reject: false });
  script.stderr.pipe(process.stderr);
  const joining = await new Promise<readonly string[]>((resolve, reject) => {
    let said = '';
    script.stderr.on('data', (text: Buffer) => {
      said += text.toString();
      const found = /run\.sh agent (.*)\n/.exec(said)?.[1];
      if (found !== undefined) resolve(found.split(' '));
    });
    script.stderr.on('end', () => reject(new Error(`it waits for no agent: ${said}`)));
  });
  const agents = hosts.map(({ enter: [program = '', ...entering] }) =>
    execa(program, [...entering, process.execPath, AGENT, ...joining], { reject: false }),
  );
  const { exitCode, stdout, stderr } = await script;
  const ends = (await Promise.all(agents)).map((agent) => agent.exitCode);
  const storeSeconds = cpuSecondsOf(hbase.processes().map(({ pid }) => pid));
  console.log(JSON.stringify({ exitCode, stdout, stderr, ends, storeSeconds }));
}
