/** A client of figure 8 as a process; its parent is the benchmark (clients.ts). */
import { serveClient } from './client.ts';

await serveClient();
