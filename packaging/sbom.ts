/**
 * The list of what stands in the executable, as CycloneDX 1.6 (ECMA-424). Input: packages, and the lock file for their
 * hashes. Output: JSON, the same for the same commit. Pure but for reading the lock file.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageAt, type BundledPackage } from './bundle.ts';
import { TOP } from './paths.ts';

interface Locked {
  readonly integrity?: string;
}

/** The document; `builtAt` is the time of the commit, in seconds since 1970. */
export function sbomText(packages: readonly BundledPackage[], version: string, builtAt: number): string {
  const lock = JSON.parse(readFileSync(join(TOP, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Locked>>;
  };
  const all = [...packages, packageAt('node_modules/node')].toSorted((a, b) => (a.folder < b.folder ? -1 : 1));
  const components = all.map(({ name, version: of, license, folder }) => {
    const sha512 = /^sha512-(\S+)$/.exec(lock.packages[folder]?.integrity ?? '')?.[1];
    const purl = `pkg:npm/${name.replace('@', '%40')}@${of}`;
    return {
      type: name === 'node' ? 'platform' : 'library',
      'bom-ref': `${purl}#${folder}`,
      name,
      version: of,
      purl,
      licenses: [/ (?:OR|AND) /.test(license) ? { expression: license } : { license: { id: license } }],
      ...(sha512 === undefined
        ? {}
        : { hashes: [{ alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') }] }),
    };
  });
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: new Date(builtAt * 1000).toISOString(),
      component: { type: 'application', 'bom-ref': `rowsync@${version}`, name: 'rowsync', version },
    },
    components,
    dependencies: [{ ref: `rowsync@${version}`, dependsOn: components.map((component) => component['bom-ref']) }],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
