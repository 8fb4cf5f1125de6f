/** For tests: a process of a script that is watched. It shows a count that grows. */
import { serve } from '../processes/index.ts';
import { live } from './live.ts';

await serve(async () => {
  let runs = 0;
  const ticker = setInterval(() => runs++, 10);
  const shown = live.show([{ panel: 'observers', series: 'committed', rate: () => runs }]);
  return {
    stop: async () => {
      clearInterval(ticker);
      shown[Symbol.dispose]();
    },
  };
});
