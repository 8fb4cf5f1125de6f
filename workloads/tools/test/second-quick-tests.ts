/** The second of the two processes of quick-tests.ts. */
import { runQuickTests } from './quick-tests.ts';

await runQuickTests('second');
