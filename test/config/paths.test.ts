/** Where a configuration is looked for, by the name on the command line and the folder where the search starts. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { findConfig, findConfigs, serviceConfig, serviceName } from '../../src/config/paths.ts';
import { configFolder, failure, GOOD, type ConfigFolder } from '../support/config.ts';

let folder: ConfigFolder['folder'];
let file: ConfigFolder['file'];
beforeEach(() => {
  ({ folder, file } = configFolder());
});

test('looks for rowsync.yaml in the current folder first, and takes a named file as it is', () => {
  writeFileSync(file, GOOD);

  expect(findConfig(undefined, folder)).toBe(file);
  expect(findConfig('other.yaml', folder)).toBe(join(folder, 'other.yaml'));
});

test('says where it looked when there is no configuration', () => {
  const error = failure(() => findConfig(undefined, folder));

  expect(error.code).toBe('config.missing');
  expect(error.message).toContain(`${file} and /etc/rowsync/rowsync.yaml`);
});

test('takes the only configuration of a folder, and lists several', () => {
  const services = join(folder, 'services');
  mkdirSync(services);
  writeFileSync(join(services, 'main.yaml'), GOOD);
  expect(findConfig('services', folder)).toBe(join(services, 'main.yaml'));
  writeFileSync(join(services, 'crm.yaml'), GOOD);

  const error = failure(() => findConfig('services', folder));

  expect(error.code).toBe('config.missing');
  expect(error.message).toContain('2 configurations');
  expect(error.hint).toContain('--service crm');
});

test('a service has its configuration in /etc/rowsync, and nowhere else', () => {
  expect(serviceConfig('main')).toBe('/etc/rowsync/main.yaml');
  expect(failure(() => serviceConfig('../main')).code).toBe('usage.invalid');
});

test('all configurations of a folder are meant where it is named, in the order of their names', () => {
  const services = join(folder, 'services');
  mkdirSync(services);
  for (const name of ['crm.yaml', 'main.yaml', 'b.yaml', 'main.token']) writeFileSync(join(services, name), '');

  expect(findConfigs('services', folder)).toEqual(
    ['b.yaml', 'crm.yaml', 'main.yaml'].map((name) => join(services, name)),
  );
  expect(findConfigs(undefined, services)).toEqual([]);
  expect(serviceName(join(services, 'crm.yaml'))).toBe('crm');
});

test('an empty folder has no configuration', () => {
  mkdirSync(join(folder, 'services'));

  const error = failure(() => findConfig('services', folder));

  expect(error).toMatchObject({ code: 'config.missing', message: expect.stringContaining('services') as string });
});

test.each(['', 'Main', 'a b', '-main', `a${'b'.repeat(31)}`, 'main.yaml', '..'])(
  '%j is not the name of a service',
  (name) => {
    expect(failure(() => serviceConfig(name)).code).toBe('usage.invalid');
  },
);

test.each(['m', '0', 'crm-2_b', 'a'.repeat(31)])('%s is the name of a service', (name) => {
  expect(serviceConfig(name)).toBe(`/etc/rowsync/${name}.yaml`);
});
