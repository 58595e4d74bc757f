/** `rowsync demo`, as a newcomer runs it. */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { makeWorkspace, runRowsync } from '../../support/child.ts';

vi.setConfig({ testTimeout: 60_000 });

test('the demo tells the whole story without a terminal, in under 30 seconds', async () => {
  using workspace = makeWorkspace({ url: 'http://127.0.0.1:1', database: '1', token: 'x' });
  const startedMs = performance.now();

  const { exitCode, stdout } = await runRowsync(['demo'], workspace);
  const durationMs = performance.now() - startedMs;
  const [folder = ''] = /\S+rowsync-demo-\w+$/m.exec(stdout) ?? [];
  const config = join(folder, 'rowsync.yaml');
  const asked = await runRowsync(
    ['sql', '-c', config, '-f', 'csv', 'SELECT count(*) > 8 AS isFull FROM sync_status'],
    workspace,
  );
  const mode = statSync(join(folder, 'token')).mode & 0o777;
  rmSync(folder, { recursive: true });

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/[1-9]\d* of \d+ pages were skipped by ETag/);
  expect(stdout).toContain('every cell matches the origin');
  expect(stdout).toMatch(/^Order 7 was here \d+\.\d s after the edit$/m);
  const lines = stdout.split('\n');
  expect(lines.length).toBeLessThan(80);
  expect(lines.filter((line) => Array.from(line).length > 80 && !line.includes(folder))).toEqual([]);
  expect(stdout).not.toContain('\u001b');
  expect(stdout).toMatch(/\$ .*init\n.*\$ .*daemon -c .*\n.*\$ .*sandbox\n/);
  expect(asked.stdout).toBe('isFull\n1\n');
  expect(mode).toBe(0o600);
  expect(durationMs).toBeLessThan(30_000);
});
