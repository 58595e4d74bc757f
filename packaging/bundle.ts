/**
 * Bundles of the program and of the library. Input: the sources and the packages of the checkout. Output: files below a
 * folder, and the packages that went into them with their versions and licenses.
 *
 * The program is made twice. For npm it is in parts, so that a command reads and compiles what it needs alone. For a
 * single executable it is CommonJS in one file. Names are kept and only blanks go, so that a stack still says where
 * something happened.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, relative } from 'node:path';
import { build, type BuildOptions, type OutputOptions, type Plugin, type RolldownOutput } from 'rolldown';
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

/** A plugin that gives a module of a package another text. */
function replaceText(name: string, id: RegExp, textOf: (path: string) => string): Plugin {
  return { name, load: { filter: { id }, handler: (path) => ({ code: textOf(path), moduleType: 'js' }) } };
}

const REPLACED: readonly Plugin[] = [
  // Of undici connections are used (origin/transport.ts): past the front door of the package, its fetch, WebSocket and
  // caches stay away.
  replaceText(
    'undici-pool',
    /node_modules\/undici\/index\.js$/,
    () => `exports.Dispatcher = require('./lib/dispatcher/dispatcher.js');
      exports.Dispatcher.prototype.connect = require('./lib/api/api-connect.js');
      exports.Pool = require('./lib/dispatcher/pool.js');
      exports.ProxyAgent = require('./lib/dispatcher/proxy-agent.js');
      exports.buildConnector = require('./lib/core/connect.js');`,
  ),
  // HTTP/2 is not offered (origin/transport.ts), and its module of Node takes longer to load than all of ours.
  replaceText(
    'no-http2',
    /node_modules\/undici\/lib\/dispatcher\/client-h2\.js$/,
    () => `module.exports = () => { throw new Error('HTTP/2 was not offered'); };`,
  ),
  // A body is bytes or a stream (origin/transport.ts), never a form of the browser's kind.
  replaceText(
    'no-forms',
    /node_modules\/undici\/lib\/web\/(?:fetch\/(?:body|formdata)|webidl\/index)\.js$/,
    () => 'module.exports = {};',
  ),
  // A proxy is spoken to by HTTP (config/options.ts).
  replaceText(
    'no-socks',
    /node_modules\/undici\/lib\/dispatcher\/socks5-proxy-agent\.js$/,
    () => 'module.exports = class {};',
  ),
  // The server for agents asks no questions whose answers a checker by JSON schema would check.
  replaceText(
    'no-schema-checker',
    /@modelcontextprotocol\/sdk\/dist\/esm\/validation\/ajv-provider\.js$/,
    () => 'export class AjvJsonSchemaValidator {}',
  ),
  // The compiler has checked how tables are drawn on the terminal.
  replaceText(
    'no-table-checker',
    /node_modules\/table\/dist\/src\/validateConfig\.js$/,
    () => 'exports.validateConfig = () => {};',
  ),
  // The daemon gathers its own metrics, and answers for itself. What prom-client offers besides brings a tracer along.
  replaceText(
    'no-default-metrics',
    /node_modules\/prom-client\/lib\/(?:defaultMetrics|pushgateway|cluster)\.js$/,
    () => 'module.exports = { metricsList: [] };',
  ),
  // The dates of cron ask Intl for the language of the system, whose data takes nine megabytes; nothing here shows
  // their words.
  replaceText(
    'dates-without-language',
    /node_modules\/luxon\/build\/node\/luxon\.js$/,
    (path) => `${readFileSync(path, 'utf8')}\nexports.Settings.defaultLocale = 'en';`,
  ),
];

/** undici leaves out its experimental parser, which nobody asks for here, where this name is known. */
const DEFINED = { esbuildDetection: 'true' };

/** Has machine code, so npm installs it beside the bundle. */
export const NOT_BUNDLED: readonly string[] = ['better-sqlite3'];

/** Names are kept, so that a stack still says where something happened. */
const WITHOUT_BLANKS = { compress: false, mangle: false, codegen: { removeWhitespace: true } } as const;

/** A plugin that changes the text of every part that was made. */
function editParts(name: string, edit: (text: string) => string): Plugin {
  return {
    name,
    generateBundle: (_options, made) => {
      for (const part of Object.values(made)) if (part.type === 'chunk') part.code = edit(part.code);
    },
  };
}

/**
 * Writes what is not ASCII as escapes. V8 keeps a text in which one character needs two bytes with two bytes for each.
 */
const onlyAscii = editParts('only-ascii', (text) =>
  text.replaceAll(/[^\0-\x7F]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
);

/**
 * V8 reads the body of an arrow function before it knows that it is one. As other functions, the modules of an
 * executable take 6 MiB less.
 */
const withoutArrows = editParts('without-arrows', (text) => text.replaceAll('__esmMin(()=>{', '__esmMin(function(){'));

/** What all bundles have in common; `output` says where they are written, and in which form. */
async function bundleOf(options: BuildOptions & { readonly output: OutputOptions }): Promise<RolldownOutput> {
  return build({
    cwd: TOP,
    platform: 'node',
    external: [...NOT_BUNDLED],
    // Some commands load at once what others load late.
    checks: { ineffectiveDynamicImport: false },
    ...options,
    transform: { target: 'node24', define: DEFINED, ...options.transform },
    plugins: [...REPLACED, options.plugins],
    output: { minify: WITHOUT_BLANKS, comments: false, polyfillRequire: false, ...options.output },
  });
}

/**
 * Packages that are CommonJS ask for what is built into Node with `require`. `createRequire` takes a path apart, and
 * one for each part of the program has V8 optimise that at the start, which takes 5 MiB.
 */
const REQUIRE =
  "import { createRequire } from 'node:module';" +
  'const require = (id) => process.getBuiltinModule(id) ?? createRequire(import.meta.url)(id);';

/** Built-in modules that packages ask for beforehand with `require`, and that many commands never use. */
const LATE: readonly string[] = ['child_process', 'fs/promises'];

/** Begins the names of built-in modules as the bundle has them. */
const BUILTIN = '\0builtin:';

/**
 * What is built into Node is loaded when something of it is used. An import reads every property, and so loads what
 * `node:http` loads only when asked; a second undici is among it. What the bundler makes of `require` looks at the
 * properties of `node:util` and `node:fs`, which loads 35 modules more. So a getter for each name is between.
 */
const builtinWhenUsed: Plugin = {
  name: 'builtin-when-used',
  resolveId: (path, _importer, { kind }) => {
    const name = path.replace(/^node:/, '');
    const isMeant = isBuiltin(path) && (kind === 'import-statement' || LATE.includes(name));
    // To load one does nothing yet.
    return isMeant ? { id: BUILTIN + name, moduleSideEffects: false } : null;
  },
  load: (id) => {
    if (!id.startsWith(BUILTIN)) return null;
    const path = id.slice(BUILTIN.length);
    // To list what `process` has is to load half of it.
    if (path === 'process') return 'export default process;';
    const found: unknown = process.getBuiltinModule(`node:${path}`);
    if (typeof found !== 'object' || found === null) return `module.exports = require('node:${path}');`;
    const getters = Object.keys(found).map((name) => `get ${name}() { return load().${name}; }`);
    const load = `let found; const load = () => (found ??= process.getBuiltinModule('node:${path}'));`;
    return `${load} module.exports = { ${getters.join(', ')} };`;
  },
};

/** In an executable better-sqlite3 takes its machine code from where addon.ts finds it. */
const addonFromAsset = replaceText(
  'addon-from-asset',
  /node_modules\/better-sqlite3\/lib\/index\.js$/,
  () => `const { loadAddon } = require(${JSON.stringify(join(TOP, 'packaging/addon.ts'))});
    module.exports = require('./database')(loadAddon, false);
    module.exports.SqliteError = require('./sqlite-error');`,
);

/** Bundles the program for an executable, which has no folder of packages beside it. */
export async function bundleExecutable(outfile: string): Promise<readonly BundledPackage[]> {
  const made = await bundleOf({
    input: 'src/cli/main.ts',
    external: [],
    plugins: [addonFromAsset, builtinWhenUsed, onlyAscii, withoutArrows],
    // An executable has no import().
    output: { file: outfile, format: 'cjs', codeSplitting: false, dynamicImportInCjs: false },
  });
  return packagesOf(made);
}

/** What start.ts loads as main.ts is called so in the package. */
const programBeside: Plugin = {
  name: 'program-beside',
  resolveId: (path) => (path === './main.ts' ? { id: './program.mjs', external: true } : null),
};

/**
 * Bundles what npm's command starts; it is CommonJS, which every Node can read, and compiled before the cache is on.
 */
export async function bundleStart(outfile: string): Promise<void> {
  await bundleOf({
    input: 'src/cli/start.ts',
    transform: { target: 'node12' },
    plugins: programBeside,
    output: { file: outfile, format: 'cjs' },
  });
}

/** The first lines of the libraries. The check has a line of its own, because Node shows the line that throws. */
function libraryBanner(): string {
  const { engines } = JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8')) as { engines: { node: string } };
  const min = engines.node.replace('>=', '');
  const said = `rowsync needs Node ${min} or newer, and \${process.execPath} is Node \${process.versions.node}; get one from https://nodejs.org`;
  return `${REQUIRE}\nif (Number.parseInt(process.versions.node) < ${min}) throw new Error(\`${said}\`);`;
}

/**
 * Bundles the client and the sandbox for npm, so that a Node too old for them still reads them, and gets to the check.
 */
export async function bundleLibraries(folder: string): Promise<readonly BundledPackage[]> {
  const libraries = ['extras/library/library', 'sandbox/library'].map((path) =>
    bundleOf({
      input: `src/${path}.ts`,
      transform: { target: 'node18' },
      plugins: builtinWhenUsed,
      output: {
        file: join(folder, `${path}.js`),
        banner: libraryBanner(),
        // Node shows the line that throws to whoever does not catch: it must not be the whole library.
        minify: false,
        codeSplitting: false,
      },
    }),
  );
  return (await Promise.all(libraries)).flatMap(packagesOf);
}

/**
 * What the parts of the program begin with that many commands load; each also has what that imports. Node takes half a
 * millisecond for a part, however small, and the bundler would make 130 for a status. Every command needs the start.
 * Almost all need almost all of what a status needs: the configuration, the replica, and what extras add to both.
 */
const PARTS = [
  { name: 'start', test: /\/src\/cli\/(?:main|program)\.ts$/, priority: 2 },
  {
    name: 'status',
    test: /\/src\/(?:cli\/commands\/status|config\/load|extras\/[^/]+\/(?:options|daemon-client|sinks|sink-text|fresh-tables|drill-result|service-plan|service-units))\.ts$/,
    priority: 1,
  },
];

/** Bundles the program, the client and the sandbox for npm. */
export async function bundle(folder: string): Promise<readonly BundledPackage[]> {
  await bundleStart(join(folder, 'cli/main.cjs'));
  const made = await bundleOf({
    input: { program: 'src/cli/main.ts' },
    plugins: [builtinWhenUsed, onlyAscii],
    output: {
      // In one folder, because parts look for what is shipped from where they stand.
      dir: join(folder, 'cli'),
      // Says what kind of module a part is; for each `.js`, Node looks for a package.json that does.
      entryFileNames: '[name].mjs',
      // Parts import each other thousands of times: a longer name would add to that.
      chunkFileNames: '[hash].mjs',
      banner: REQUIRE,
      codeSplitting: { groups: PARTS },
    },
  });
  const all = [...packagesOf(made), ...(await bundleLibraries(folder))];
  return [...new Map(all.map((found) => [found.folder, found])).values()].toSorted((a, b) =>
    a.folder < b.folder ? -1 : 1,
  );
}

function packagesOf({ output }: RolldownOutput): readonly BundledPackage[] {
  const paths = output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
  const folders = paths.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(relative(TOP, path))?.[0] ?? []);
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
