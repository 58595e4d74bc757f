/** The configuration that `rowsync init` writes, and what a pasted address means. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { answerComplaints, firstConfigText, readAddress, type Answers } from '../../../src/extras/setup/init-config.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { SECTIONS } from '../../support/sections.ts';

const ANSWERS: Answers = {
  url: 'https://www.teamdesk.net',
  database: '21995',
  tokenFile: 'token',
  replicaPath: 'r.db',
  tables: ['*'],
  pushed: [],
};

/** The configuration that these answers make, as it is read again. */
function written(answers: Partial<Answers>) {
  using folder = temporaryFolder();
  const file = join(folder.path, 'rowsync.yaml');
  writeFileSync(file, firstConfigText({ ...ANSWERS, ...answers }));
  return loadConfig(file, { needsCredentials: false, sections: SECTIONS }).config;
}

test.each([
  ['https://www.teamdesk.net/secure/db/21995/overview.aspx?x=1', 'https://www.teamdesk.net', '21995'],
  ['www.teamdesk.net/secure/db/21995-2/', 'https://www.teamdesk.net', '21995-2'],
  ['http://127.0.0.1:8080/secure/api/v2/7/describe.json', 'http://127.0.0.1:8080', '7'],
  ['localhost:8080/secure/db/7', 'http://localhost:8080', '7'],
  ['127.0.0.1:8080', 'http://127.0.0.1:8080', null],
  ['https://localhost:8080', 'https://localhost:8080', null],
  ['localhost.example', 'https://localhost.example', null],
  ['https://www.teamdesk.net', 'https://www.teamdesk.net', null],
  ['https://user:secret@www.teamdesk.net/secure/db/5/', 'https://www.teamdesk.net', '5'],
])('reads the address %s', (pasted, url, database) => {
  expect(readAddress(pasted)).toEqual({ url, database });
});

test.each(['', 'ftp://www.teamdesk.net', 'https://', 'two words'])('takes %j for no address', (pasted) => {
  expect(readAddress(pasted)).toBeNull();
});

test('quotes whatever a name may hold, of a table as well', () => {
  const odd = 'a: "b" #c ${HOME} \\ é';
  const answers = { tables: ['*', `${odd} too`], pushed: [{ table: odd, match: odd }], replicaPath: `${odd}.db` };
  expect(answerComplaints({ ...ANSWERS, ...answers }, SECTIONS)).toEqual([]);

  const { tables, replica } = written(answers);

  expect(tables.byName.keys.map(({ key }) => key).toSorted()).toEqual(['*', odd, `${odd} too`].toSorted());
  expect(tables.find(odd)?.options).toMatchObject({ push: true, match: odd });
  expect(tables.find(`${odd} too`)?.options).toEqual({});
  expect(replica.path.endsWith(`/${odd}.db`)).toBe(true);
});

test('a table that is pushed is no mirror as well, and deletes for good only where that was said', () => {
  const { tables } = written({
    tables: ['Note', 'Order', 'Note'],
    pushed: [
      { table: 'Note', match: 'Code' },
      { table: 'Log', match: null, purges: true },
    ],
  });

  expect(tables.byName.keys.map(({ key }) => key).toSorted()).toEqual(['Log', 'Note', 'Order']);
  expect(tables.find('Note')?.options).toMatchObject({ push: true, match: 'Code', conflict: 'origin', delete: 'bin' });
  expect(tables.find('Log')?.options).toMatchObject({ push: true, delete: 'purge' });
  expect(tables.find('Log')?.options.match).toBeUndefined();
});

test('the way to the origin is written down, with what is known of a login', () => {
  const proxy = { url: 'http://proxy.example:3128', user: 'us', passwordFile: 'pw', password: undefined };
  const text = firstConfigText({ ...ANSWERS, proxy, caFile: 'ca.pem' });

  expect(text).toContain('  proxy: { url: "http://proxy.example:3128", user: "us", passwordFile: "pw" }\n');
  expect(text).toContain('  caFile: "ca.pem"\n');
  expect(firstConfigText({ ...ANSWERS, proxy: 'environment' })).toContain('  proxy: "environment"\n');
  expect(firstConfigText(ANSWERS)).not.toMatch(/proxy|caFile/);
});

test('says which answers cannot be options', () => {
  expect(answerComplaints({ ...ANSWERS, replicaPath: '' }, SECTIONS)).toEqual([
    'replica.path must be the path of the SQLite file',
  ]);
});
