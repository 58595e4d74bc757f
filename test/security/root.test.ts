/**
 * Commands that root runs on a replica whose folder members of a group may write. Root is rowsync's user there, whatever they put into the folder,
 * and reads no secret before it knows who that is.
 */
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { runRowsync } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { isRoot, makeSharedFolder, MEMBER, ROWSYNC, runAs } from '../support/shared-folder.ts';

vi.setConfig({ testTimeout: 120_000 });

const NOTE = { name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }] } as const;

/** Everything below a folder that is not of rowsync's user. */
function foreignBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => lstatSync(join(folder, name)).uid !== ROWSYNC,
  );
}

describe.skipIf(!isRoot)('root', () => {
  test.each([['verify'], ['status'], ['daemon']])(
    'works on no replica that a member has exchanged, and reads no token before: %s',
    async (...command) => {
      await using sandbox = await startTestSandbox({ tables: [NOTE] });
      using place = makeSharedFolder(sandbox);
      await runRowsync(['pull', '--config', place.config], { folder: place.top });
      runAs(MEMBER, 'cp "$1" "$1.mine"; mv -f "$1.mine" "$1"', place.replica);
      rmSync(join(place.top, 'token')); // reading it would be another error

      const { exitCode, stderr } = await runRowsync([...command, '--config', place.config, '--json'], {
        folder: place.top,
      });

      expect(exitCode).toBe(1);
      expect(stderr).toContain('"code":"replica.path"');
      expect(stderr).toContain(`belongs to the user ${MEMBER}`);
    },
  );

  test('is rowsync’s user in every command, so that nothing in the folder is root’s', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using place = makeSharedFolder(sandbox, 'tables: { Note: { push: true, history: true } }\n');
    const out = join(place.top, 'out');
    mkdirSync(out);
    chmodSync(out, 0o777);
    const commands = [
      ['pull'],
      ['sync'],
      ['status'],
      ['sql', 'SELECT * FROM Note'],
      ['log'],
      ['failures'],
      ['conflicts'],
      ['history', 'Note', '1'],
      ['schema'],
      ['plan'],
      ['push'],
      ['check'],
      ['verify'],
      ['files', 'list'],
      ['files', 'pull'],
      ['files', 'export', join(out, 'files')],
      ['files', 'prune'],
      ['export', join(out, 'tables'), '--format', 'csv'],
      ['backup', join(out, 'copy.db')],
      ['proposals'],
      ['mcp'],
      ['resync', 'Note'],
      ['history', 'forget', 'Note', '1'],
      ['rebuild'],
      ['pull'],
      ['restore', join(out, 'copy.db')],
    ];

    const failures: string[] = [];
    for (const command of commands) {
      const { exitCode, stderr } = await runRowsync([...command, '--config', place.config], { folder: place.top });
      if (exitCode !== 0) failures.push(`${command.join(' ')}: ${exitCode} ${stderr}`);
      failures.push(...foreignBelow(place.folder).map((name) => `${command.join(' ')}: ${name} is not rowsync's`));
    }

    expect(failures).toEqual([]);
    expect(foreignBelow(out)).toEqual([]);
  });

  test('stays root on a replica of its own', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using place = makeSharedFolder(sandbox);
    const config = join(place.top, 'own.yaml');
    mkdirSync(join(place.top, 'own'), { mode: 0o777 });
    writeFileSync(
      config,
      `origin: { url: "${sandbox.url}", database: "${sandbox.database}", tokenFile: token }\nreplica: { path: own/replica.db }\n`,
    );

    const { exitCode, stderr } = await runRowsync(['pull', '--config', config], { folder: place.top });

    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(lstatSync(join(place.top, 'own/replica.db')).uid).toBe(0);
    expect(existsSync(place.replica)).toBe(false);
  });
});
