/**
 * The key of hashes, where members of a group may write the folder that it is in. A key that another user may know is
 * not used, and no member can let another key through.
 */
import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { describe, expect, test, vi } from 'vitest';
import { confirmHeld } from '../../src/replica/confirmation.ts';
import { runRowsync } from '../support/child.ts';
import { startDaemonProcess } from '../support/daemon-process.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import type { RunResult } from '../support/session.ts';
import { isRoot, makeSharedFolder, MEMBER, runAs, type SharedFolder } from '../support/shared-folder.ts';

vi.setConfig({ testTimeout: 120_000 });

const PERSON = {
  name: 'Person',
  columns: [{ name: 'Mail', type: 'Text' }],
  rows: [{ Mail: 'ann@example.net' }],
} as const;
const YAML = 'tables: { Person: { mask: { Mail: hash } } }\n';

function run(place: SharedFolder, ...command: string[]): Promise<RunResult> {
  return runRowsync([...command, '--config', place.config], { folder: place.top });
}

function mailsIn(place: SharedFolder): unknown {
  const db = new Database(place.replica, { readonly: true });
  try {
    return db.prepare('SELECT Mail FROM Person').pluck().all();
  } catch {
    return []; // no table yet
  } finally {
    db.close();
  }
}

describe.skipIf(!isRoot)('a key of masks', () => {
  test.each([
    ['a file of a member', 'umask 077; printf "a key that I know, long enough" > "$1"', 'belongs to the user'],
    ['a link of a member', 'ln -s /etc/hostname "$1"', 'is a link that the user'],
  ])('that is %s is refused: no row is read, and everything says so', async (_what, plant, why) => {
    await using sandbox = await startTestSandbox({ tables: [PERSON] });
    using place = makeSharedFolder(sandbox, YAML);
    runAs(MEMBER, plant, `${place.replica}.mask-key`);

    const pulled = await run(place, 'pull');
    const readCount = sandbox.requests.count({ method: 'select' });
    const status = await run(place, 'status');
    const checked = await run(place, 'check');

    expect(pulled.exitCode).toBe(1);
    expect(pulled.stdout).toContain('config.maskKey');
    expect(mailsIn(place)).toEqual([]);
    expect(readCount).toBe(0);
    for (const { stdout } of [pulled, status, checked]) expect(stdout.replaceAll(/\s+/g, ' ')).toContain(why);
    expect(checked.exitCode).toBe(1);
  });

  test('that is refused is in the log of the daemon, with what to do', async () => {
    await using sandbox = await startTestSandbox({ tables: [PERSON] });
    using place = makeSharedFolder(sandbox, YAML);
    runAs(MEMBER, 'umask 077; printf "a key that I know, long enough" > "$1"', `${place.replica}.mask-key`);
    const daemon = startDaemonProcess(place.top);

    await daemon.logged('table.failed', 1, ({ code }) => code === 'config.maskKey');
    daemon.process.kill('SIGTERM');
    await daemon.ended;

    expect(daemon.lines.join('\n')).toMatch(/"table":"Person".*belongs to the user.*replica\.maskKeyFile/);
  });

  test('that a member has exchanged changes no row', async () => {
    await using sandbox = await startTestSandbox({ tables: [PERSON] });
    using place = makeSharedFolder(sandbox, YAML);
    await run(place, 'pull');
    const before = mailsIn(place);
    runAs(MEMBER, 'rm -f "$1"; umask 077; printf "a key that I know, long enough" > "$1"', `${place.replica}.mask-key`);

    const { exitCode, stdout } = await run(place, 'pull', '--confirm');

    expect(exitCode).toBe(1);
    expect(stdout).toContain('config.maskKey');
    expect(before).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(mailsIn(place)).toEqual(before);
  });

  test('that is new since a member removed the former one is let through by a command with the token alone', async () => {
    await using sandbox = await startTestSandbox({ tables: [PERSON] });
    using place = makeSharedFolder(sandbox, YAML);
    await run(place, 'pull');
    const before = mailsIn(place);
    rmSync(`${place.replica}.mask-key`);

    const held = await run(place, 'pull');
    const consents = confirmHeld(place.replica, ['pull', 'push'], []);
    const db = new Database(place.replica);
    db.exec(`UPDATE _rowsync_tables SET pull_consent = 100, problem_code = 'guard.schema'`);
    db.close();
    const heldStill = await run(place, 'pull');
    const kept = mailsIn(place);
    const done = await run(place, 'pull', '--confirm');

    expect(held.exitCode).toBe(3);
    expect(held.stdout).toContain('guard.maskKey');
    expect(consents).toEqual([]);
    expect(heldStill.exitCode).toBe(3);
    expect(kept).toEqual(before);
    expect(done.exitCode).toBe(0);
    expect(mailsIn(place)).not.toEqual(before);
  });
});
