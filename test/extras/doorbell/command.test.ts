/**
 * `rowsync doorbell` as its users see it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startDaemon } from '../../support/daemon.ts';
import { makeWorkspace } from '../../support/child.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';

const columns = [{ name: 'Title', type: 'Text' }];
const tables = ['Note', 'Purchase Order'].map((name) => ({ name, columns, rows: [{ Title: 'a' }] }));

test('it prints the address of each table, and how the origin gets to it', async () => {
  await using sandbox = await startTestSandbox({ tables });
  using workspace = makeWorkspace(sandbox, 'http: { listen: "127.0.0.1:8787", doorbell: true }\n');
  const { folder } = workspace;
  await runCli(['pull'], { folder });

  const { exitCode, stdout } = await runCli(['doorbell'], { folder });
  const { stdout: outside } = await runCli(['doorbell', 'show', 'Note', '--at', 'https://bell.example.com/'], {
    folder,
  });

  const secret = readFileSync(join(folder, 'replica.db.doorbell-secret'), 'utf8').trim();
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`http://127.0.0.1:8787/ring/${secret}/Purchase%20Order\n`);
  expect(stdout).toContain('location /ring/ { proxy_pass http://127.0.0.1:8787; }');
  expect(outside).toContain(`https://bell.example.com/ring/${secret}/Note\n`);
  expect(outside).not.toContain('proxy_pass');
});

test('renew makes other addresses', async () => {
  await using sandbox = await startTestSandbox({ tables });
  using workspace = makeWorkspace(sandbox, 'http: { listen: "127.0.0.1:8787", doorbell: true }\n');
  const { folder } = workspace;
  await runCli(['pull'], { folder });

  const [before, now, again] = [
    await runCli(['doorbell', '--json'], { folder }),
    await runCli(['doorbell', 'renew', '--json'], { folder }),
    await runCli(['doorbell', '--json'], { folder }),
  ];

  expect(now.stdout).not.toBe(before.stdout);
  expect(again.stdout).toBe(now.stdout);
});

test('a test ring says that it arrived, or why not', async () => {
  await using sandbox = await startTestSandbox({ tables });
  using place = temporaryFolder();
  const yaml = `http: { doorbell: { listen: "${join(place.path, 'bell')}" } }\n`;
  await using daemon = startDaemon(sandbox, yaml);
  await daemon.idle();
  daemon.clock.advance(1_000);
  const { folder } = daemon;

  const heard = await runCli(['doorbell', 'test', 'Purchase Order'], { folder });
  await daemon.stop();
  const lost = await runCli(['doorbell', 'test', '--json'], { folder });

  expect(heard).toMatchObject({ exitCode: 0, stdout: 'The ring of Purchase Order arrived; the daemon reads it now\n' });
  expect(lost.exitCode).toBe(1);
  expect(JSON.parse(lost.stdout)).toMatchObject({ arrived: false, table: 'Note' });
});

test('a server that is no doorbell is said to be none', async () => {
  await using sandbox = await startTestSandbox({ tables });
  using workspace = makeWorkspace(sandbox, 'http: { listen: "127.0.0.1:8787", doorbell: true }\n');
  const { folder } = workspace;
  await runCli(['pull'], { folder });

  const { exitCode, stdout } = await runCli(['doorbell', 'test', '--at', sandbox.url], { folder });

  expect([exitCode, stdout]).toEqual([1, expect.stringContaining('The ring of Note did not arrive: ')]);
});

test('without a doorbell in the configuration it says how to get one', async () => {
  await using sandbox = await startTestSandbox({ tables });
  using workspace = makeWorkspace(sandbox, '');
  using other = makeWorkspace(sandbox, 'http: { doorbell: true }\n');

  expect((await runCli(['doorbell'], workspace)).stderr).toContain('Set http.doorbell to true beside http.listen');
  expect((await runCli(['status'], other)).stderr).toContain('http.doorbell');
});

test('without a table it asks for a pull, and shows no empty list', async () => {
  await using sandbox = await startTestSandbox({ tables });
  const yaml = 'http: { listen: "127.0.0.1:8787", doorbell: true }\ntables: { Other: {} }\n';
  using workspace = makeWorkspace(sandbox, yaml);
  const { folder } = workspace;
  await runCli(['pull'], { folder });

  const { exitCode, stdout, stderr } = await runCli(['doorbell'], { folder });

  expect([exitCode, stdout]).toEqual([2, '']);
  expect(stderr).toContain('There is no table that could ring\n  what to do: Run rowsync pull first.');
});

test.each(['bell.example.com', 'ftp://bell.example.com', 'bell:443'])(
  '%s is no address for the origin to call',
  async (at) => {
    await using sandbox = await startTestSandbox({ tables });
    using workspace = makeWorkspace(sandbox, 'http: { listen: "127.0.0.1:8787", doorbell: true }\n');
    const { folder } = workspace;
    await runCli(['pull'], { folder });

    for (const command of ['show', 'test', 'renew']) {
      const { exitCode, stdout, stderr } = await runCli(['doorbell', command, '--at', at], { folder });

      expect([exitCode, stdout]).toEqual([2, '']);
      expect(stderr).toContain('--at needs an address that begins with https:// or http://');
    }
  },
);
