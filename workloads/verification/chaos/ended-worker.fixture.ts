/** For tests: loaded by each process of a round before its program. Workers end at once. */
import { NotificationScanner } from '../../../engine/observer/scanner.ts';

NotificationScanner.prototype.nextBatch = () => Promise.reject(new Error('a bug'));
