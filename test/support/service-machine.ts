/**
 * A machine with rowsync installed from the packed package, and an origin to work with: a sandbox on its own loopback.
 * Takes nothing but the checkout; produces a machine with the commands that tests of the service share, or why there is
 * none.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootMachine, cacheFolder, npmFolder, type Machine } from './machine.ts';
import { fillNpmCache, npmRegistry, packInto } from './packed.ts';

/** The token of the origin; no output may have it. */
export const TOKEN = '5ec2e7c0ffee5ec2e7c0ffee5ec2e7c0';
/** Where the origin and its control endpoint listen in the machine. */
const ORIGIN = 'http://127.0.0.1:8100';
const CONTROL = 'http://127.0.0.1:8101';
/** What `rowsync service install` is told of the origin. */
export const FROM_ORIGIN = `--url ${ORIGIN} --database 21995 --token-file /srv/token`;

/** A machine with rowsync. */
export interface ServiceMachine extends Machine {
  /**
   * Sets up rowsync@NAME over a small two-way table, with lines for its configuration and for a drop-in of the unit.
   */
  readonly install: (name: string, more?: { readonly yaml?: string; readonly unit?: string }) => Promise<void>;
  /** Runs SQL in the replica of an instance, as ann: a member of the group, at the sqlite3 shell. */
  readonly sql: (name: string, statements: string) => Promise<string>;
  /** What the origin holds of a product. */
  readonly product: (sku: string) => Promise<Readonly<Record<string, unknown>>>;
  /** Makes the origin answer badly; no rule ends it. */
  readonly faults: (...rules: readonly object[]) => Promise<void>;
  /** The messages of a unit that journald keeps, with their priorities. */
  readonly journal: (unit: string) => Promise<readonly { readonly priority: number; readonly message: string }[]>;
  /** One property of a unit. */
  readonly property: (unit: string, name: string) => Promise<string>;
  /** The command that installs a package of another version; made when it is asked for. */
  readonly packageOf: (version: string) => Promise<string>;
}

/** A machine with rowsync installed and the origin running, or the reason why there is none. */
export async function startServiceMachine(): Promise<ServiceMachine | { readonly reason: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-package-'));
  const cache = join(cacheFolder, 'npm');
  mkdirSync(cache, { recursive: true });
  const shown = {
    '/usr/local/bin/node': process.execPath,
    '/usr/local/lib/node_modules/npm': npmFolder(),
    '/media/package': folder,
  };
  // The package is made before, because the machine sees the cache as it was when it was booted.
  const tarball = await packInto(folder);
  const unreachable = await fillNpmCache(join(folder, tarball), cache).then(
    () => null,
    () => 'npm reaches no registry',
  );
  const booted =
    unreachable === null ? await bootMachine({ shown, copied: { '/var/cache/npm': cache } }) : { reason: unreachable };
  if ('reason' in booted) {
    rmSync(folder, { recursive: true, force: true });
    return booted;
  }
  const npm = `npm install --global --offline --cache=/var/cache/npm --registry=${await npmRegistry()}`;
  const machine = serviceMachine(booted, {
    packageOf: async (version) => `${npm} /media/package/${await packInto(folder, version)}`,
    stop: async () => {
      await booted.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  });
  try {
    await machine.shell('ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm');
    await machine.shell(`${npm} /media/package/${tarball}`);
    await startOrigin(machine);
  } catch (thrown) {
    await machine.stop();
    throw thrown;
  }
  return machine;
}

/** Starts the sandbox as a unit of its own, and adds the user who edits. */
async function startOrigin(machine: Machine): Promise<void> {
  const sandbox = `rowsync sandbox --json --port 8100 --control 8101 --token ${TOKEN}`;
  await machine.shell(`
    systemd-run --quiet --unit=origin --description=origin -p StandardOutput=file:/run/origin.json ${sandbox}
    useradd --create-home ann
    (umask 077; echo ${TOKEN} > /srv/token)`);
  await machine.until('[ -s /run/origin.json ]');
}

function serviceMachine(machine: Machine, own: Pick<ServiceMachine, 'packageOf' | 'stop'>): ServiceMachine {
  const { shell } = machine;
  const fetched = async (path: string, ...options: readonly string[]): Promise<unknown> =>
    JSON.parse(await shell(`curl --silent --show-error --fail ${options.join(' ')} '${path}'`));
  return {
    ...machine,
    ...own,
    install: async (name, { yaml = '', unit = '' } = {}) => {
      await shell(`
        mkdir -p /etc/rowsync /etc/systemd/system/rowsync@${name}.service.d
        cat > /etc/rowsync/${name}.yaml <<'END'\n${configText(name)}${yaml}END
        cat > /etc/systemd/system/rowsync@${name}.service.d/test.conf <<'END'\n[Service]\n${unit}\nEND
        rowsync service install ${name} --token-file /srv/token
        usermod -aG rowsync ann`);
      await machine.until(
        `curl -sf -H "Authorization: Bearer $(cat /var/lib/rowsync/${name}/replica.db.page-key)" --unix-socket /run/rowsync/${name}/http.sock http://localhost/status | grep -q '"push": {'`,
      );
    },
    sql: (name, statements) =>
      shell(`sqlite3 -bail -cmd '.timeout 5000' /var/lib/rowsync/${name}/replica.db "${statements}"`, 'ann'),
    product: async (sku) => {
      const query = new URLSearchParams({ filter: `[SKU] = "${sku}"` });
      const rows = await fetched(
        `${ORIGIN}/secure/api/v2/21995/Product/select.json?${query.toString()}`,
        `--header 'Authorization: Bearer ${TOKEN}'`,
      );
      return (rows as Record<string, unknown>[])[0] ?? {};
    },
    faults: async (...rules) => {
      const body = JSON.stringify({ seed: 1, faults: rules });
      await fetched(`${CONTROL}/faults`, `--request PUT --header 'Content-Type: application/json' --data '${body}'`);
    },
    journal: async (unit) => {
      const text = await shell(`journalctl --no-pager --output=json --unit=${unit}`);
      return text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { PRIORITY: string; MESSAGE: string })
        .map(({ PRIORITY, MESSAGE }) => ({ priority: Number(PRIORITY), message: MESSAGE }));
    },
    property: async (unit, name) => (await shell(`systemctl show --value --property=${name} ${unit}`)).trim(),
  };
}

/** One small table, pushed a second after the last edit, and nothing on a schedule that could come in between. */
function configText(name: string): string {
  return `origin:
  url: ${ORIGIN}
  database: '21995'
  tokenFile: \${CREDENTIALS_DIRECTORY:-/etc/rowsync}/${name}.token
replica:
  path: /var/lib/rowsync/${name}/replica.db
  shared: true
http:
  listen: /run/rowsync/${name}/http.sock
tables:
  Product: { push: true, match: SKU }
push:
  delay: 1
schedule:
  sync: '0 0 1 1 *'
`;
}
