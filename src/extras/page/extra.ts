/**
 * The web page of the daemon, made as HTML in a process of its own.
 */
import type { Extra } from '../../extra.ts';
import { PAGE_PROCESS } from './request.ts';

export const PAGE: Extra = {
  name: 'page',
  processes: {
    [PAGE_PROCESS]: async () => {
      const [{ serveQuestions }, { answerPage }] = await Promise.all([
        import('../shared/child-process.ts'),
        import('./routes.ts'),
      ]);
      return () => serveQuestions(answerPage);
    },
  },
};
