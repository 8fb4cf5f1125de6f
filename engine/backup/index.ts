/** The front door of backups: how one is made, and how it is restored. */
export { backup, type BackupOptions, type BackupReport } from './backup.ts';
export {
  readBackup,
  restore,
  type RestoreOptions,
  restoreRead,
  type RestoreReport,
} from './restore.ts';
