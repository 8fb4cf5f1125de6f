/** The report of a judgement, as data for `--json` and as text. */
import { counted, formatCount } from '#results';
import { ANOMALIES, type AnomalyName, type Story } from './anomalies.ts';
import type { HistoryVerdict } from './verdict.ts';

export interface JudgeReport extends Omit<HistoryVerdict, 'stories' | 'allowed'> {
  readonly file: string;
  readonly model: string;
  readonly verdict: 'clean' | 'violated';
  readonly seconds: number;
  readonly peakMemoryMB: number;
  /** The violations kept, by anomaly, in the order of `ANOMALIES`. */
  readonly violations: readonly StoryGroup[];
  /** Anomalies that the model allows. */
  readonly allowed: readonly StoryGroup[];
}

interface StoryGroup {
  readonly anomaly: AnomalyName;
  readonly also: string;
  readonly means: string;
  readonly count: number;
  readonly stories: readonly Story[];
}

interface ReportContext {
  readonly file: string;
  readonly model: string;
  readonly seconds: number;
  /** Maximum number of stories of each anomaly. */
  readonly limit: number;
}

export function reportOf(
  { stories, allowed, ...verdict }: HistoryVerdict,
  { file, model, seconds, limit }: ReportContext,
): JudgeReport {
  return {
    file,
    model,
    verdict: verdict.found === 0 ? 'clean' : 'violated',
    ...verdict,
    violations: groupsOf(stories, limit),
    allowed: groupsOf(allowed, limit),
    seconds: Math.round(seconds * 100) / 100,
    peakMemoryMB: Math.round((process.resourceUsage().maxRSS * 1024) / 1e6), // maxRSS is in KiB.
  };
}

export function reportLines(report: JudgeReport): readonly string[] {
  const { verdict, model, found, violations, allowed, allowedFound } = report;
  const sentence =
    verdict === 'clean'
      ? `Clean: nothing contradicts ${wordsOf(model)}.`
      : `Violated: ${counted(found, 'violations')} of ${wordsOf(model)}${ofWhich(violations, found)}.`;
  return [
    ...summaryLines(report),
    '',
    sentence,
    ...violations.flatMap(groupLines),
    ...(allowed.length === 0
      ? []
      : [
          '',
          `Allowed by ${wordsOf(model)}, ${counted(allowedFound, 'cycles')}${ofWhich(allowed, allowedFound)}:`,
        ]),
    ...allowed.flatMap(groupLines),
  ];
}

/** Empty if all that were found are in the groups. */
function ofWhich(groups: readonly StoryGroup[], found: number): string {
  const told = groups.reduce((sum, { count }) => sum + count, 0);
  return told < found ? `; the first ${formatCount(told)} are grouped here` : '';
}

function summaryLines(report: JudgeReport): readonly string[] {
  const { transactions, ok, fail, info, infoSeen, reads, readsNotJudged, keys } = report;
  const seen =
    info === 0
      ? ''
      : `; ${formatCount(infoSeen)} of these count as committed, because reads saw them`;
  const left =
    readsNotJudged === 0
      ? ''
      : `; ${formatCount(readsNotJudged)} not judged, because their values do not identify a writer`;
  const format =
    report.format === 'timestamps'
      ? 'judged by timestamps'
      : 'list append, judged without timestamps';
  return [
    `${report.file}: ${format}`,
    `transactions:          ${formatCount(transactions)} (${formatCount(ok)} ok, ${formatCount(fail)} fail, ${formatCount(info)} info${seen})`,
    `reads judged:          ${formatCount(reads)}, of ${counted(keys, 'keys')}${left}`,
    `overlapping writers:   ${counted(report.overlappingWriters, 'pairs')}${overlapNote(report)}`,
    `time and memory:       ${report.seconds} s, ${formatCount(report.peakMemoryMB)} MB`,
  ];
}

function overlapNote({ overlappingWriters }: JudgeReport): string {
  if (overlappingWriters > 0) return '';
  return ': no two transactions wrote one key at the same time, so this history proves little';
}

function groupsOf(stories: readonly Story[], limit: number): readonly StoryGroup[] {
  const groups = Map.groupBy(stories, ({ anomaly }) => anomaly);
  return (Object.keys(ANOMALIES) as AnomalyName[]).flatMap((anomaly) => {
    const ofAnomaly = groups.get(anomaly) ?? [];
    if (ofAnomaly.length === 0) return [];
    const shown = ofAnomaly.slice(0, limit);
    return [{ anomaly, ...ANOMALIES[anomaly], count: ofAnomaly.length, stories: shown }];
  });
}

function groupLines({ anomaly, also, means, count, stories }: StoryGroup): readonly string[] {
  const more = count - stories.length;
  return [
    '',
    `${capitalised(anomaly)} (${also}), ${formatCount(count)}: ${means}.`,
    ...stories.flatMap(storyLines),
    ...(more > 0 ? [`  ${formatCount(more)} more; use --all or --limit to see them.`] : []),
  ];
}

function storyLines({ about, transactions, why }: Story): readonly string[] {
  const width = Math.max(...transactions.map(({ name }) => name.length));
  return [
    '',
    ...(about === '' ? [] : [`  On ${about}:`]),
    ...transactions.flatMap(({ name, lines, heading, did }) => {
      const where = `${lines.length > 1 ? 'lines' : 'line'} ${lines.join(' and ')}`;
      return [
        `    ${name.padEnd(width)}  ${where}: ${heading}`,
        `    ${' '.repeat(width)}  ${did === '' ? 'did nothing' : did}`,
      ];
    }),
    ...why.map((sentence) => `  ${sentence}`),
  ];
}

function wordsOf(model: string): string {
  return model.replaceAll('-', ' ').replace('serializable', 'serializability');
}

function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
