/** Forms of the page that get no answer from the process that makes pages. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { answerPost, postOf, type Actions } from '../../../src/extras/http/actions.ts';
import { openPageAuth } from '../../../src/extras/http/page-key.ts';
import { ChildFailure } from '../../../src/extras/shared/child-pool.ts';
import { must } from '../../../src/base/assert.ts';
import { testClock } from '../../support/clock.ts';

test.each(['late', 'ended', 'closed'] as const)(
  'an edit whose process was %s may have been made, and is not made again by the same form',
  async (reason) => {
    const auth = openPageAuth('k'.repeat(40), testClock());
    const cookie = `rowsync_page_1=${auth.signIn()}`;
    const asked: string[] = [];
    const document: Actions['document'] = ({ path }) => {
      asked.push(path);
      return Promise.reject(new ChildFailure(reason));
    };
    const actions = { auth: () => auth, database: () => null, document } as Partial<Actions> as Actions;
    const send = async (token: string) => {
      const headers = { cookie, host: 'localhost:1', 'content-type': 'application/x-www-form-urlencoded' };
      const text = new URLSearchParams({ token, kind: 'insert', table: 'Note', 'v:Title': 'a' }).toString();
      const request = Object.assign(Readable.from([Buffer.from(text)]), { headers }) as Readable as IncomingMessage;
      const { status, body } = await answerPost(request, must(postOf(request, '/edit'), 'edits are taken'), actions);
      return {
        status,
        isDoubtful: typeof body === 'string' && body.includes('It is not known whether the edit was saved'),
      };
    };

    const token = auth.formToken();
    const twice = [await send(token), await send(token)];
    const fresh = await send(auth.formToken());

    expect([...twice, fresh]).toEqual(Array.from({ length: 3 }, () => ({ status: 504, isDoubtful: true })));
    expect(asked).toEqual(['/edit', '/edit']);
  },
);
