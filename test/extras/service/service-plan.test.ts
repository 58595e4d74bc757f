/** The steps that install and remove the service, in order, and the configuration that it begins with. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { optionsSchema } from '../../../src/config/options.ts';
import {
  firstConfig,
  instanceOf,
  planInstall,
  planUninstall,
  UNIT_FILES,
  unitOf,
  type ServiceChoice,
  type ServiceStep,
} from '../../../src/extras/service/service-plan.ts';
import { SECTIONS } from '../../support/sections.ts';

const unit = (name: string): string => readFileSync(join('systemd', name), 'utf8');
const UNITS = new Map(readdirSync('systemd').map((name) => [name, unit(name)]));
const CHOICE: ServiceChoice = {
  name: 'main',
  by: 'daemon',
  program: ['/usr/bin/rowsync'],
  units: UNITS,
  config: 'a configuration',
  token: 'a-token\n',
  maskKey: 'a key',
};

/** A step in one line; a mode is octal, ? means: only if it is not there. */
function line(step: ServiceStep): string {
  switch (step.kind) {
    case 'write':
      return `${step.once ? 'write?' : 'write'} ${step.path} ${step.mode.toString(8)}`;
    case 'protect':
      return `protect ${step.path} ${step.mode.toString(8)}`;
    case 'remove':
      return `remove ${step.path}`;
    case 'run':
      return `${step.isLive ? 'live ' : ''}${step.command.join(' ')}`;
    default:
      return step satisfies never;
  }
}

test('users and folders come before secrets, units before they are loaded, and the other way stops before this one starts', () => {
  expect(planInstall(CHOICE).map(line)).toEqual([
    'write /etc/sysusers.d/rowsync.conf 644',
    'write /etc/tmpfiles.d/rowsync.conf 644',
    'systemd-sysusers rowsync.conf',
    'systemd-tmpfiles --create rowsync.conf',
    'write? /etc/rowsync/main.yaml 644',
    'write? /etc/rowsync/main.mask-key 600',
    'write /etc/rowsync/main.token 600',
    'write /etc/systemd/system/rowsync@.service 644',
    'write /etc/systemd/system/rowsync-sync@.service 644',
    'write /etc/systemd/system/rowsync-sync@.timer 644',
    'live systemctl daemon-reload',
    'systemctl disable rowsync-sync@main.timer',
    'live systemctl stop rowsync-sync@main.timer',
    'systemctl enable rowsync@main.service',
    'live systemctl restart rowsync@main.service',
  ]);
});

test('cycles by the timer replace the daemon', () => {
  const steps = planInstall({ ...CHOICE, by: 'timer' }).map(line);

  expect(steps.slice(-4)).toEqual([
    'systemctl disable rowsync@main.service',
    'live systemctl stop rowsync@main.service',
    'systemctl enable rowsync-sync@main.timer',
    'live systemctl restart rowsync-sync@main.timer',
  ]);
});

test('a package looks after its units, and what an administrator has stays, with a token that only root can read', () => {
  const steps = planInstall({ ...CHOICE, units: null, config: null, token: null }).map(line);

  expect(steps.filter((step) => step.startsWith('write'))).toEqual([]);
  expect(steps).toContain('protect /etc/rowsync/main.token 600');
});

test('the token is in no step that is printed', () => {
  expect(planInstall(CHOICE).map(line).join('\n')).not.toContain('a-token');
});

test('removing one of several leaves the units, which serve every instance', () => {
  const steps = planUninstall('main', false);

  expect(steps.map(line)).toEqual([
    'live systemctl stop rowsync-sync@main.timer rowsync-sync@main.service rowsync@main.service',
    'systemctl disable rowsync-sync@main.timer rowsync@main.service',
    'live systemctl daemon-reload',
    'live systemctl reset-failed rowsync@main.* rowsync-sync@main.*',
  ]);
  // Without its units systemd has never heard of the service.
  expect(steps.map((step) => step.kind === 'run' && step.needs)).toEqual([
    '/etc/systemd/system/rowsync@.service',
    '/etc/systemd/system/rowsync@.service',
    null,
    null,
  ]);
});

test('removing the last one removes what the install wrote, and neither configuration nor token', () => {
  const removed = planUninstall('main', true).flatMap((step) => (step.kind === 'remove' ? [step.path] : []));
  const written = planInstall({ ...CHOICE, config: null, token: null }).flatMap((step) => {
    return step.kind === 'write' ? [step.path] : [];
  });

  expect(removed.toSorted()).toEqual(written.toSorted());
  expect(removed).toHaveLength(UNIT_FILES.length);
});

test.each([
  ['/etc/rowsync/main.yaml', 'main'],
  ['/etc/rowsync/crm-2_b.yaml', 'crm-2_b'],
  ['/etc/rowsync/main.token', null],
  ['/etc/rowsync/sub/main.yaml', null],
  ['/srv/rowsync.yaml', null],
  ['/etc/rowsync/.yaml', null],
])('%s is the configuration of %j', (file, name) => {
  expect(instanceOf(file)).toBe(name);
});

test('an instance is a service or a timer', () => {
  expect([unitOf('main', 'daemon'), unitOf('main', 'timer')]).toEqual([
    'rowsync@main.service',
    'rowsync-sync@main.timer',
  ]);
});

test('a program with blanks and percent signs is quoted as systemd reads it', () => {
  const program = ['/opt/my node/100%', '--flag=1'];

  const steps = planInstall({ ...CHOICE, program });

  const texts = steps.flatMap((step) => (step.kind === 'write' && step.path.endsWith('.service') ? [step.text] : []));
  expect(texts).toEqual([
    expect.stringContaining('ExecStart="/opt/my node/100%%" --flag=1 daemon --config /etc/rowsync/%i.yaml\n'),
    expect.stringContaining('ExecStart="/opt/my node/100%%" --flag=1 sync --config /etc/rowsync/%i.yaml\n'),
  ]);
});

test('the configuration to begin with is valid, and asks for the credential that the unit loads', () => {
  const values: unknown = parse(firstConfig('main', { url: 'https://www.teamdesk.net', database: '21995' }));

  expect(optionsSchema(SECTIONS).safeParse(values).success).toBe(true);
  expect(values).toMatchObject({
    origin: { tokenFile: '${CREDENTIALS_DIRECTORY:-/etc/rowsync}/main.token' },
    replica: { maskKeyFile: '${CREDENTIALS_DIRECTORY:-/etc/rowsync}/main.mask-key' },
  });
  for (const file of ['rowsync@.service', 'rowsync-sync@.service'])
    for (const name of ['token', 'mask-key'])
      expect(unit(file)).toContain(`LoadCredential=%i.${name}:/etc/rowsync/%i.${name}\n`);
});
