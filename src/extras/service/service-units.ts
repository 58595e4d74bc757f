/**
 * Describes the state of the systemd units of an instance, from what `systemctl show` prints: whether the daemon or the
 * timer runs, and why it does not.
 */
import { spawnSync } from 'node:child_process';
import { EXIT } from '../../base/errors.ts';
import { fail, ok, warn, type CheckResult } from '../shared/linked-extra.ts';
import { servicePaths, unitOf } from './service-plan.ts';

export interface UnitReport {
  readonly findings: readonly CheckResult[];
  readonly units: readonly string[];
  readonly isWanted: boolean;
  readonly isUp: boolean;
}

/** systemctl answers at once, or hangs with the bus. */
const SYSTEMCTL_MS_MAX = 5_000;
const PROPERTIES = [
  'Id',
  'LoadState',
  'ActiveState',
  'UnitFileState',
  'SubState',
  'Result',
  'ExecMainStatus',
  'NRestarts',
];

type Properties = ReadonlyMap<string, string>;

interface Reason {
  readonly text: string;
  /** What to do, where the log says less than is known here. */
  readonly hint?: string;
}

/** Asks systemd for an instance; null where no systemd answers. */
export function examineUnits(name: string): UnitReport | null {
  const units = [unitOf(name, 'daemon'), unitOf(name, 'timer'), `rowsync-sync@${name}.service`];
  const { stdout, status } = spawnSync('systemctl', ['show', `--property=${PROPERTIES.join(',')}`, ...units], {
    encoding: 'utf8',
    timeout: SYSTEMCTL_MS_MAX,
  });
  return status === 0 ? judgeUnits(name, stdout) : null;
}

export function judgeUnits(name: string, text: string): UnitReport {
  const [daemon, timer, cycle] = text.split('\n\n').map(propertiesOf);
  const both = [daemon, timer];
  const isUp = both.some((unit) => unit?.get('ActiveState') === 'active');
  const isWanted = isUp || both.some((unit) => unit?.get('UnitFileState') === 'enabled');
  const isByTimer = daemon?.get('ActiveState') !== 'active' && timer?.get('ActiveState') === 'active';
  if (!isByTimer) {
    const unit = unitOf(name, 'daemon');
    return { findings: [judgeDaemon(name, unit, daemon ?? new Map())], units: [unit], isWanted, isUp };
  }
  const [unit, service] = [unitOf(name, 'timer'), `rowsync-sync@${name}.service`];
  const findings = [ok('service', `${unit} is active`), ...judgeCycle(name, service, cycle ?? new Map())];
  return { findings, units: [unit, service], isWanted, isUp };
}

function propertiesOf(block: string): Properties {
  return new Map(
    block.split('\n').map((line) => {
      const [key = '', ...value] = line.split('=');
      return [key, value.join('=')];
    }),
  );
}

function judgeDaemon(name: string, unit: string, values: Properties): CheckResult {
  const state = values.get('ActiveState') ?? '';
  if (values.get('LoadState') !== 'loaded') {
    return warn(
      'service',
      `${unit} is not installed`,
      'Run sudo rowsync service install, or the daemon by other means.',
    );
  }
  const log = `journalctl -u ${unit} says why.`;
  const { text, hint = log } = reasonOf(name, values);
  if (state === 'failed') {
    const start = `sudo systemctl restart ${unit} starts it then.`;
    return fail('service', `${unit} has failed, and is not started again: ${text}`, `${hint} ${start}`);
  }
  const restarts = Number(values.get('NRestarts') ?? 0);
  if (state === 'activating' && (restarts > 0 || values.get('SubState') === 'auto-restart')) {
    // While a start is under way, systemd does not tell how the last one ended.
    const why = values.get('Result') === 'success' ? '' : `: ${text}`;
    return fail('service', `${unit} fails, and is started again and again${why}`, hint);
  }
  if (state !== 'active') return warn('service', `${unit} is ${state}`, `Start it: sudo systemctl start ${unit}.`);
  return restarts === 0
    ? ok('service', `${unit} is active`)
    : warn('service', `${unit} is active, and was restarted ${restarts} times after failures`, log);
}

function judgeCycle(name: string, unit: string, values: Properties): readonly CheckResult[] {
  if (values.get('ActiveState') !== 'failed') return [];
  const { text, hint = `journalctl -u ${unit} says why.` } = reasonOf(name, values);
  return [fail('service', `the last cycle of ${unit} failed: ${text}`, hint)];
}

/** Why a unit failed, from how its process ended. */
function reasonOf(name: string, values: Properties): Reason {
  const result = values.get('Result') ?? '';
  const status = Number(values.get('ExecMainStatus'));
  if (result === 'exit-code') return reasonByStatus(name).get(status) ?? { text: `it ended with ${status}` };
  return { text: REASON_BY_RESULT.get(result) ?? result };
}

const REASON_BY_RESULT: ReadonlyMap<string, string> = new Map([
  ['signal', 'it was killed'],
  ['core-dump', 'it crashed'],
  ['oom-kill', 'the machine ran out of memory'],
  ['watchdog', 'its work made no progress any more'],
  ['timeout', 'it did not start or stop in time'],
  ['start-limit-hit', 'it failed too often in a short time'],
  ['protocol', 'it ended before it was ready'],
]);

/** Exit codes of our own (base/errors.ts), and those of systemd for what it could not set up (systemd.exec(5)). */
function reasonByStatus(name: string): ReadonlyMap<number, Reason> {
  const { config, token } = servicePaths(name);
  const again = 'Run sudo rowsync service install again.';
  return new Map<number, Reason>([
    [
      EXIT.usage,
      { text: 'its configuration is wrong', hint: `sudo rowsync check --config ${config} says what is wrong.` },
    ],
    [EXIT.needsPerson, { text: 'something waits for a person', hint: `rowsync status --config ${config} says what.` }],
    [EXIT.tryLater, { text: 'the replica cannot be used now' }],
    [
      EXIT.unusable,
      {
        text: 'the replica is damaged, or a newer version of rowsync wrote it',
        hint: `Nothing was changed. journalctl -u rowsync@${name} says which, and what to do.`,
      },
    ],
    [200, { text: 'its folder cannot be entered' }],
    [203, { text: 'Node or the program is not where it was', hint: again }],
    [217, { text: 'there is no user rowsync', hint: again }],
    [243, { text: 'its token cannot be read', hint: `Put the token into ${token}.` }],
  ]);
}
