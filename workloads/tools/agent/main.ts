/** `./run.sh agent`: makes this machine a host of an experiment that another one measures. */
import process from 'node:process';
import { runCommand, text, UsageError } from '#harness';
import { serveAgent } from '../../harness/hosts/agent.ts';

const specification = {
  script: 'agent',
  description:
    'Joins the run of a script that was started with --hosts on another machine, and starts processes of that run here. ' +
    'It needs the same version of this project on both, and ends when the run does. The script prints the command.',
  options: {
    coordinator: text({
      description: 'where the script that measures listens, as it printed it',
      placeholder: 'host:port',
    }),
    token: text({
      description:
        'what the script printed, for this run alone; that script can run any program of this project here',
    }),
    address: text({
      description: 'where the other hosts of the run reach this machine',
      defaultText: 'where the script sees it',
      placeholder: 'host',
    }),
  },
  examples: [
    {
      command: './run.sh agent --coordinator 10.0.0.1:7454 --token 8f3...e07',
      does: 'runs processes of the script on 10.0.0.1 here, until that script ends',
    },
  ],
} as const;

await runCommand(specification, async ({ coordinator, token, address }, { signal }) => {
  if (coordinator === undefined || token === undefined) {
    throw new UsageError(
      'Give --coordinator and --token, as the script that measures prints them.',
    );
  }
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  await serveAgent({ coordinator, token, address, signal, say });
  say('The run is over.');
});
