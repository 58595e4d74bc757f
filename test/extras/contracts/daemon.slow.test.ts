import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startDaemon } from '../../support/daemon.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

test(
  'the daemon sends one notice of a check that fails, and one when it holds again',
  { timeout: 60_000 },
  async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    const options =
      'schedule: { pull: "*/5 * * * *", follow: false }\nnotify: { command: ["true"], repeatMinutes: 600 }\n';
    await using daemon = startDaemon(sandbox, `${options}contracts: { folder: queries, keepOldNames: 30d }\n`, {
      prepare: (folder) => {
        mkdirSync(join(folder, 'queries'));
        writeFileSync(join(folder, 'queries/empty.check.sql'), 'SELECT _id FROM Note WHERE Code IS NULL');
      },
    });
    await daemon.elapse(6);
    expect(daemon.events('notice.sent')).toEqual([]);
    sandbox.store.renameColumn('Note', 'Title', 'Heading');
    sandbox.store.update('Note', 1, { Code: null });
    await daemon.elapse(20);
    const failing = daemon.events('notice.sent').map(({ reason, subject }) => [reason, subject]);
    const titles = daemon.rows('SELECT Title FROM Note WHERE _id = 1');
    sandbox.store.update('Note', 1, { Code: 'c1' });

    await daemon.elapse(20);

    expect(failing.filter(([reason]) => reason === 'needsPerson')).toHaveLength(1);
    expect(titles).toEqual([{ Title: 'title 1' }]);
    expect(daemon.events('notice.sent').filter(({ reason }) => reason === 'recovered')).toHaveLength(1);
    expect(daemon.rows('SELECT * FROM _rowsync_contracts')).toEqual([]);
  },
);
