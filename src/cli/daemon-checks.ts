/**
 * What `rowsync check` says of the daemon: what systemd says of the unit that the configuration belongs to, and what the daemon says
 * of itself where it listens. Input: the configuration. Output: findings; none where there is neither.
 */
import { spawnSync } from 'node:child_process';
import type { Config } from '../config/load.ts';
import { fail, ok, warn, type CheckResult } from './check-result.ts';
import { askDaemon } from './daemon-answer.ts';

/** systemctl answers at once, or hangs with the bus. */
const SYSTEMCTL_MS_MAX = 5_000;

/** The findings. */
export async function checkDaemon(config: Config): Promise<readonly CheckResult[]> {
  return [...checkUnit(config.file), ...(await checkAnswer(config))];
}

/** The unit of a configuration of `rowsync service install`. */
function checkUnit(file: string): readonly CheckResult[] {
  const [, name] = /^\/etc\/rowsync\/([a-z0-9_-]+)\.yaml$/.exec(file) ?? [];
  if (name === undefined) return [];
  const unit = `rowsync@${name}.service`;
  const properties = ['LoadState', 'ActiveState', 'NRestarts'];
  const { stdout, status } = spawnSync(
    'systemctl',
    ['show', unit, ...properties.map((property) => `--property=${property}`)],
    {
      encoding: 'utf8',
      timeout: SYSTEMCTL_MS_MAX,
    },
  );
  return status === 0 ? judgeUnit(unit, stdout) : [];
}

/** What the properties of a unit mean, as `systemctl show` prints them. */
export function judgeUnit(unit: string, text: string): readonly CheckResult[] {
  const values = new Map(
    text.split('\n').map((line) => {
      const [key = '', ...value] = line.split('=');
      return [key, value.join('=')];
    }),
  );
  const state = values.get('ActiveState') ?? '';
  if (values.get('LoadState') !== 'loaded') {
    return [
      warn('service', `${unit} is not installed`, 'Run sudo rowsync service install, or the daemon by other means.'),
    ];
  }
  const log = `journalctl -u ${unit} says why.`;
  if (state === 'failed') return [fail('service', `${unit} has failed`, log)];
  if (state !== 'active') return [warn('service', `${unit} is ${state}`, `Start it: sudo systemctl start ${unit}.`)];
  const restarts = Number(values.get('NRestarts') ?? 0);
  return [
    restarts === 0
      ? ok('service', `${unit} is active`)
      : warn('service', `${unit} is active, and was restarted ${restarts} times after failures`, log),
  ];
}

async function checkAnswer({ http: { listen } }: Config): Promise<readonly CheckResult[]> {
  if (listen === null) return [];
  const answer = await askDaemon(listen);
  if (answer === null) {
    return [warn('daemon', 'no daemon answers at http.listen', 'Start it (rowsync daemon), or remove http.listen.')];
  }
  const { failure, status } = answer;
  return [failure === null ? ok('daemon', status) : fail('daemon', failure.message, failure.hint)];
}
