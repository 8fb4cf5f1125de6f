/** The front door of the audit. Start reading at audit.ts; finding.ts lists what can be found. */
export { audit, type Audit, type AuditOptions, DamagedRows } from './audit.ts';
export { type Finding, FINDING_CODES, type FindingCode, type Severity } from './finding.ts';
export type { AuditedTable } from './judge-notifications.ts';
export { repair } from './repair.ts';
