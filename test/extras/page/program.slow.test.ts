/**
 * The page as the program serves it that users run (support/program.ts): the processes that make pages are found in it,
 * and so are the style, the script and what follows an edit.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../../support/child.ts';
import { startDaemonProcess } from '../../support/daemon-process.ts';
import { ask, type Asked } from '../../support/http.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

const YAML = `tables: { "*": { push: true, match: Code, history: true } }
schedule: { sync: "0 0 1 1 *" }
push: { delay: 1 }
`;

const PAGES: readonly (readonly [path: string, type: string, content: string])[] = [
  ['/', 'text/html', 'Sign out'],
  ['/browse', 'text/html', 'Note'],
  ['/browse/Note?Title=a&_sort=-Count', 'text/html', '<table'],
  ['/browse/Note/1', 'text/html', 'Title'],
  ['/edits/Note', 'text/html', 'Note'],
  ['/edit/Note/1', 'text/html', '<form'],
  ['/ask?sql=SELECT+41%2B1', 'text/html', '42'],
  ['/export/csv?sql=SELECT+41%2B1+AS+n', 'text/csv', 'n\n42'],
  ['/work', 'text/html', 'pull'],
  ['/page.css', 'text/css', '{'],
  ['/page.js', 'text/javascript', 'document'],
];

test('every page is served, and an edit that is typed there arrives at the origin', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, YAML);
  const { folder } = workspace;
  appendFileSync(join(folder, 'rowsync.yaml'), `http: { listen: "${join(folder, 'http.sock')}" }\n`);
  const daemon = startDaemonProcess(folder);
  try {
    await daemon.logged('work.finished', 1, ({ work }) => work === 'push');
    const where = { socketPath: join(folder, 'http.sock') };
    const post = (path: string, fields: Readonly<Record<string, string>>, cookie = ''): Promise<Asked> =>
      ask(where, path, {
        method: 'POST',
        headers: {
          Host: 'localhost',
          Origin: 'http://localhost',
          'Content-Type': 'application/x-www-form-urlencoded',
          Cookie: cookie,
        },
        body: new URLSearchParams(fields).toString(),
      });
    const key = readFileSync(join(folder, 'replica.db.page-key'), 'utf8').trim();
    const { headers } = await post('/sign-in', { key });
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';

    const answers = [];
    for (const [path, type, content] of PAGES) {
      const answer = await ask(where, path, { headers: { Host: 'localhost', Cookie: cookie } });
      const isServed = answer.status === 200 && (answer.headers['content-type'] ?? '').startsWith(type);
      answers.push([path, isServed && answer.body.includes(content) ? 'served' : `${answer.status} ${answer.body}`]);
    }
    const form = await ask(where, '/edit/Note/1', { headers: { Host: 'localhost', Cookie: cookie } });
    const [fields = ''] = form.body.split('class="card edit"').slice(1);
    const hidden = [
      ...fields
        .split('</form>', 1)
        .join('')
        .matchAll(/type="hidden"\s+name="([^"]+)"\s+value="([^"]*)"/g),
    ]
      .map(([, name = '', value = '']) => [name, value] as const)
      .filter(([name]) => !name.startsWith('w:') || name === 'w:Title');
    const pushed = daemon.logged('work.finished', 1, ({ work }) => work === 'push');
    const edited = await post('/edit', { ...Object.fromEntries(hidden), 'v:Title': 'typed' }, cookie);
    await pushed;

    expect(answers).toEqual(PAGES.map(([path]) => [path, 'served']));
    expect([edited.status, edited.headers.location]).toEqual([303, expect.stringContaining('/browse/Note/1')]);
    expect(sandbox.store.rows('Note')[0]?.values['Title']).toBe('typed');
  } finally {
    daemon.process.kill('SIGTERM');
    await daemon.ended;
  }
});
