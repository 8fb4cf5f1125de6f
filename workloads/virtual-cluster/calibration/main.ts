/**
 * `./run.sh calibrate`: makes the calibration `this-machine` from run records, for the virtual
 * cluster. It measures nothing.
 *
 * Exit codes: 0 done; 2 a mistake on the command line, or a record that is needed is missing or
 * cannot be used.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inputFolder, outputFolder, runCommand } from '#harness';
import { REFERENCE_FOLDER, RUNS_FOLDER } from '#results';
import { parseCalibration } from './load.ts';
import { calibrateThisMachine } from './this-machine.ts';

await runCommand(
  {
    script: 'calibrate',
    description:
      'Makes the calibration this-machine for bench:cluster from the newest run records of bench:micro, ' +
      'bench:cluster --figure costs, bench:oracle and bench:mapreduce, and says which records it has used, and which ' +
      'are missing.',
    options: {
      in: inputFolder({
        description: 'folder of the runs',
        defaultText: 'results/runs, then results/reference',
      }),
      out: outputFolder({
        description: 'folder for this-machine.json; bench:cluster looks for it in the default',
        default: path.relative(process.cwd(), RUNS_FOLDER) || '.',
        defaultText: 'results/runs',
      }),
    },
    examples: [
      {
        command: './run.sh calibrate',
        does: 'then: ./run.sh bench:cluster --calibration this-machine',
      },
    ],
  },
  async ({ in: folder, out }) => {
    const folders = folder == null ? [RUNS_FOLDER, REFERENCE_FOLDER] : [folder];
    const { file, used, missing } = calibrateThisMachine(folders);
    const target = path.join(out, 'this-machine.json');
    parseCalibration(file, target);
    mkdirSync(out, { recursive: true });
    writeFileSync(target, `${JSON.stringify(file, null, 2)}\n`);
    const lines = [
      ...used.map((one) => `Used ${one}`),
      ...missing,
      `Wrote ${target}. ${file.about}.`,
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
    return undefined;
  },
);
