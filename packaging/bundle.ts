/**
 * Bundles of the program and of the library. Input: the sources and the packages of the checkout. Output: files below a folder,
 * and the packages that went into them with their versions and licenses.
 *
 * The program is made twice. For npm it is in parts, so that a command reads and compiles what it needs alone. For a single executable it is
 * CommonJS in one file. Names are kept and only blanks go, so that a stack still says where something happened.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
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

/** Of undici connections are used (origin/transport.ts): past the front door of the package, its fetch, WebSocket and caches stay away. */
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
    // HTTP/2 is not offered (origin/transport.ts), and its module of Node takes longer to load than all of ours.
    loader.onLoad({ filter: /node_modules\/undici\/lib\/dispatcher\/client-h2\.js$/ }, () => ({
      contents: `module.exports = () => { throw new Error('HTTP/2 was not offered'); };`,
    }));
    // A body is bytes or a stream (origin/transport.ts), never a form of the browser's kind.
    loader.onLoad(
      { filter: /node_modules\/undici\/lib\/web\/(?:fetch\/(?:body|formdata)|webidl\/index)\.js$/ },
      () => ({
        contents: 'module.exports = {};',
      }),
    );
    // A proxy is spoken to by HTTP (config/options.ts).
    loader.onLoad({ filter: /node_modules\/undici\/lib\/dispatcher\/socks5-proxy-agent\.js$/ }, () => ({
      contents: 'module.exports = class {};',
    }));
  },
};

/**
 * Checkers by JSON schema stay away: the server for agents asks no questions whose answers one would check, and the tables on the terminal are
 * drawn as the compiler has checked it.
 */
const noSchemaChecker: Plugin = {
  name: 'no-schema-checker',
  setup: (loader) => {
    loader.onLoad({ filter: /@modelcontextprotocol\/sdk\/dist\/esm\/validation\/ajv-provider\.js$/ }, () => ({
      contents: 'export class AjvJsonSchemaValidator {}',
    }));
    loader.onLoad({ filter: /node_modules\/table\/dist\/src\/validateConfig\.js$/ }, () => ({
      contents: 'exports.validateConfig = () => {};',
    }));
  },
};

/** The daemon gathers its own metrics, and answers for itself. What prom-client offers besides brings a tracer along. */
const noDefaultMetrics: Plugin = {
  name: 'no-default-metrics',
  setup: (loader) => {
    loader.onLoad({ filter: /node_modules\/prom-client\/lib\/(?:defaultMetrics|pushgateway|cluster)\.js$/ }, () => ({
      contents: 'module.exports = { metricsList: [] };',
    }));
  },
};

/** The dates of cron ask Intl for the language of the system, whose data takes nine megabytes; nothing here shows their words. */
const datesWithoutLanguage: Plugin = {
  name: 'dates-without-language',
  setup: (loader) => {
    loader.onLoad({ filter: /node_modules\/luxon\/build\/node\/luxon\.js$/ }, ({ path }) => ({
      contents: `${readFileSync(path, 'utf8')}\nexports.Settings.defaultLocale = 'en';`,
    }));
  },
};

/** undici leaves out its experimental parser, which nobody asks for here, where this name is known. */
const DEFINED = { esbuildDetection: 'true' };

/** Has machine code, so npm installs it beside the bundle. */
export const NOT_BUNDLED: readonly string[] = ['better-sqlite3'];

const COMMON = {
  bundle: true,
  define: DEFINED,
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  absWorkingDir: TOP,
  external: [...NOT_BUNDLED],
  plugins: [undiciPool, noSchemaChecker, noDefaultMetrics, datesWithoutLanguage],
} satisfies BuildOptions;

/**
 * Packages that are CommonJS ask for what is built into Node with `require`. `createRequire` takes a path apart, and one for each part of
 * the program has V8 optimise that at the start, which takes 5 MiB.
 */
const REQUIRE =
  "import { createRequire } from 'node:module';" +
  'const require = (id) => process.getBuiltinModule(id) ?? createRequire(import.meta.url)(id);';

/** Built-in modules that packages ask for beforehand with `require`, and that many commands never use. */
const LATE: readonly string[] = ['child_process', 'fs/promises'];

/**
 * What is built into Node is loaded when something of it is used. An import reads every property, and so loads what `node:http` loads only when
 * asked; a second undici is among it. What the bundler makes of `require` looks at the properties of `node:util` and `node:fs`, which loads 35
 * modules more. So a getter for each name stands between.
 */
const builtinWhenUsed: Plugin = {
  name: 'builtin-when-used',
  setup: (loader) => {
    loader.onResolve({ filter: /./ }, ({ path, kind }) => {
      const name = path.replace(/^node:/, '');
      const isMeant = isBuiltin(path) && (kind === 'import-statement' || LATE.includes(name));
      return isMeant ? { path: name, namespace: 'builtin' } : null;
    });
    loader.onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => {
      // To list what `process` has is to load half of it.
      if (path === 'process') return { contents: 'export default process;' };
      const found: unknown = process.getBuiltinModule(`node:${path}`);
      if (typeof found !== 'object' || found === null) return { contents: `module.exports = require('node:${path}');` };
      const getters = Object.keys(found).map((name) => `get ${name}() { return load().${name}; }`);
      const load = `let found; const load = () => (found ??= process.getBuiltinModule('node:${path}'));`;
      return { contents: `${load} module.exports = { ${getters.join(', ')} };` };
    });
  },
};

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
  const { metafile } = await build({
    ...COMMON,
    format: 'cjs',
    // An executable has no import(); what is built into Node is required.
    supported: { 'dynamic-import': false },
    define: { ...DEFINED, 'import.meta.url': 'ownUrl' },
    banner: { js: "const ownUrl = require('node:url').pathToFileURL(__filename).href;" },
    external: [],
    plugins: [...COMMON.plugins, addonFromAsset],
    entryPoints: ['src/cli/main.ts'],
    outfile,
  });
  return packagesOf(metafile);
}

/** What start.ts loads as main.ts is called so in the package. */
const programBeside: Plugin = {
  name: 'program-beside',
  setup: (loader) => {
    loader.onResolve({ filter: /^\.\/main\.ts$/ }, () => ({ path: './program.mjs', external: true }));
  },
};

/** Bundles what npm's command starts; it is CommonJS, which every Node can read, and compiled before the cache is on. */
export async function bundleStart(outfile: string): Promise<void> {
  await build({
    ...COMMON,
    format: 'cjs',
    target: 'node12',
    supported: { 'dynamic-import': true },
    plugins: [programBeside],
    entryPoints: ['src/cli/start.ts'],
    outfile,
  });
}

/** The first lines of the libraries. The check has a line of its own, because Node shows the line that throws. */
function libraryBanner(): string {
  const { engines } = JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8')) as { engines: { node: string } };
  const min = engines.node.replace('>=', '');
  const said = `rowsync needs Node ${min} or newer, and \${process.execPath} is Node \${process.versions.node}; get one from https://nodejs.org`;
  return `${REQUIRE}\nif (Number.parseInt(process.versions.node) < ${min}) throw new Error(\`${said}\`);`;
}

/** Bundles the client and the sandbox for npm, so that a Node too old for them still reads them, and gets to the check. */
export async function bundleLibraries(folder: string): Promise<readonly BundledPackage[]> {
  const { metafile } = await build({
    ...COMMON,
    // Node shows the line that throws to whoever does not catch: it must not be the whole library.
    minifyWhitespace: false,
    format: 'esm',
    target: 'node18',
    banner: { js: libraryBanner() },
    plugins: [...COMMON.plugins, builtinWhenUsed],
    entryPoints: ['src/extras/library/library.ts', 'src/sandbox/library.ts'],
    outbase: 'src',
    outdir: folder,
  });
  return packagesOf(metafile);
}

/** Bundles the program, the client and the sandbox for npm. */
export async function bundle(folder: string): Promise<readonly BundledPackage[]> {
  await bundleStart(join(folder, 'cli/main.cjs'));
  const { metafile } = await build({
    ...COMMON,
    format: 'esm',
    banner: { js: REQUIRE },
    plugins: [...COMMON.plugins, builtinWhenUsed],
    splitting: true,
    entryPoints: { program: 'src/cli/main.ts' },
    // In one folder, because parts look for what is shipped from where they stand.
    outdir: join(folder, 'cli'),
    // Parts import each other five thousand times: a longer name would add 30 KB.
    chunkNames: '[hash]',
    // Says what kind of module a part is; for each `.js`, Node looks for a package.json that does.
    outExtension: { '.js': '.mjs' },
  });
  const all = [...packagesOf(metafile), ...(await bundleLibraries(folder))];
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
