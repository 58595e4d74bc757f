/**
 * Bundles of the program and of the library. Input: the sources and the packages of the checkout. Output: files below a folder,
 * and the packages that went into them with their versions and licenses.
 *
 * The program is CommonJS in one file: modules that only `import()` reaches run when they are asked for, and a single executable can hold it.
 * Names are kept and only blanks go, so that a stack still says where something happened.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type BuildOptions, type Metafile, type Plugin } from 'esbuild';
import { TOP } from './paths.ts';

/** A package that is part of a bundle. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** As SPDX says it. */
  readonly license: string;
  /** Its folder, relative to the checkout. */
  readonly folder: string;
}

/** Of undici connections are used (origin/connections.ts): past the front door of the package, its fetch, WebSocket and caches stay away. */
const undiciPool: Plugin = {
  name: 'undici-pool',
  setup: (loader) => {
    loader.onLoad({ filter: /node_modules\/undici\/index\.js$/ }, () => ({
      contents: `exports.Dispatcher = require('./lib/dispatcher/dispatcher.js');
        exports.Dispatcher.prototype.connect = require('./lib/api/api-connect.js');
        exports.Pool = require('./lib/dispatcher/pool.js');
        exports.ProxyAgent = require('./lib/dispatcher/proxy-agent.js');
        exports.buildConnector = require('./lib/core/connect.js');`,
    }));
    // A proxy is spoken to by HTTP (config/options.ts).
    loader.onLoad({ filter: /node_modules\/undici\/lib\/dispatcher\/socks5-proxy-agent\.js$/ }, () => ({
      contents: 'module.exports = class {};',
    }));
  },
};

const COMMON = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  absWorkingDir: TOP,
  external: ['better-sqlite3'],
  plugins: [undiciPool],
} satisfies BuildOptions;

const PROGRAM = {
  ...COMMON,
  format: 'cjs',
  // An executable has no import(); what is built into Node is required.
  supported: { 'dynamic-import': false },
  define: { 'import.meta.url': 'ownUrl' },
  banner: { js: "const ownUrl = require('node:url').pathToFileURL(__filename).href;" },
} satisfies BuildOptions;

/** Bundles the program into one file, with what `more` changes. */
export async function bundleProgram(outfile: string, more: BuildOptions = {}): Promise<readonly BundledPackage[]> {
  const { metafile } = await build({ ...PROGRAM, ...more, entryPoints: ['src/cli/main.ts'], outfile, metafile: true });
  return packagesOf(metafile);
}

/** In an executable better-sqlite3 takes its machine code from where addon.ts finds it. */
const addonFromAsset: Plugin = {
  name: 'addon-from-asset',
  setup: (loader) => {
    loader.onLoad({ filter: /node_modules\/better-sqlite3\/lib\/index\.js$/ }, () => ({
      contents: `const { loadAddon } = require(${JSON.stringify(join(TOP, 'packaging/addon.ts'))});
        module.exports = require('./database')(loadAddon, false);
        module.exports.SqliteError = require('./sqlite-error');`,
    }));
  },
};

/** Bundles the program for an executable, which has no folder of packages beside it. */
export async function bundleExecutable(outfile: string): Promise<readonly BundledPackage[]> {
  return bundleProgram(outfile, { external: [], plugins: [undiciPool, addonFromAsset] });
}

/** Bundles the program and the library for npm. */
export async function bundle(folder: string): Promise<readonly BundledPackage[]> {
  const program = await bundleProgram(join(folder, 'cli/program.cjs'));
  // In a file of its own: the cache must be on before the program is compiled.
  await build({ ...PROGRAM, entryPoints: ['src/cli/start.ts'], outfile: join(folder, 'cli/main.cjs') });
  const library = await build({
    ...COMMON,
    format: 'esm',
    entryPoints: ['src/origin/library.ts'],
    outfile: join(folder, 'origin/library.js'),
    banner: { js: "import { createRequire } from 'node:module';const require = createRequire(import.meta.url);" },
  });
  const all = [...program, ...packagesOf(library.metafile)];
  return [...new Map(all.map((found) => [found.folder, found])).values()].toSorted((a, b) =>
    a.folder < b.folder ? -1 : 1,
  );
}

function packagesOf({ inputs }: Metafile): readonly BundledPackage[] {
  const folders = Object.keys(inputs).flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].map(packageAt);
}

/** What a package says of itself; the folder is relative to the checkout. */
export function packageAt(folder: string): BundledPackage {
  const text = readFileSync(join(TOP, folder, 'package.json'), 'utf8');
  const { name, version, license } = JSON.parse(text) as { name: string; version: string; license?: string };
  if (license === undefined) throw new Error(`${name} does not say its license`);
  return { name, version, license, folder };
}

/** Writes the licenses of all packages into one file, as they ask for it. */
export function writeLicenses(path: string, packages: readonly BundledPackage[]): void {
  const texts = packages.map(({ name, version, license, folder }) => {
    const files = readdirSync(join(TOP, folder)).filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file));
    const text = files.toSorted().map((file) => readFileSync(join(TOP, folder, file), 'utf8').trim());
    return [`${name} ${version} (${license})`, ...text].join('\n\n');
  });
  writeFileSync(path, `${texts.join(`\n\n${'-'.repeat(72)}\n\n`)}\n`);
}
