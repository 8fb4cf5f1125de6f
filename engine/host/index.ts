/** The door `percolator-engine/host`: databases on many hosts, by one configuration. */
export {
  type AuthorityOptions,
  type CertificateAuthority,
  type CertificateOptions,
  createAuthority,
  issueCertificate,
} from './certificates.ts';
export type { ConfigurationFile, LogLevel, LogSettings, TlsFiles } from './configuration.ts';
export { connectPercolator, type ConnectPercolatorOptions } from './connect.ts';
export { FsckReport, type FsckSummary, reportLines } from './fsck-report.ts';
