/**
 * What installing and removing the systemd service consists of: files to write, programs to run, in order. Input: the
 * units of the package, a name, the paths of Node and of the program. Output: steps, which commands/service.ts carries out
 * or prints. Running them again changes nothing. Pure.
 */
import { basename } from 'node:path';

/** One step; paths are absolute on the machine that is set up. */
export type ServiceStep =
  | {
      readonly kind: 'write';
      readonly path: string;
      readonly text: string;
      readonly mode: number;
      readonly once: boolean;
    }
  | { readonly kind: 'remove'; readonly path: string }
  | {
      readonly kind: 'run';
      readonly command: readonly [string, ...string[]];
      /** Whether it speaks to the running manager, which a machine that is only being built does not have. */
      readonly isLive: boolean;
    };

/** What is installed. */
export interface ServiceChoice {
  /** The instance: rowsync@NAME. */
  readonly name: string;
  /** The command that replaces `/usr/bin/rowsync` in ExecStart. */
  readonly program: readonly string[];
  /** Texts of the files in systemd/, by file name. */
  readonly units: ReadonlyMap<string, string>;
  /** The configuration to write where there is none yet; null to demand that there is one. */
  readonly config: string | null;
  /** The token to store; null to keep the one that is there. */
  readonly token: string | null;
}

const UNIT_FOLDER = '/etc/systemd/system';
const SYSUSERS = '/etc/sysusers.d/rowsync.conf';
const TMPFILES = '/etc/tmpfiles.d/rowsync.conf';
/** The units that are installed, from systemd/. */
const SERVICE_UNITS = ['rowsync@.service', 'rowsync-sync@.service', 'rowsync-sync@.timer'] as const;

/** The program as the units of the package name it. */
const PACKAGED_PROGRAM = '/usr/bin/rowsync';

/** Where the configuration and the token of an instance stand. */
export function servicePaths(name: string): { readonly config: string; readonly token: string } {
  return { config: `/etc/rowsync/${name}.yaml`, token: `/etc/rowsync/${name}.token` };
}

/** The steps that set the service up, enable and start it. */
export function planInstall({ name, program, units, config, token }: ServiceChoice): readonly ServiceStep[] {
  const paths = servicePaths(name);
  const write = (path: string, text: string, mode = 0o644, once = false): ServiceStep => ({
    kind: 'write',
    path,
    text,
    mode,
    once,
  });
  const unit = (file: string): string => units.get(file) ?? '';
  return [
    write(SYSUSERS, unit('rowsync.sysusers.conf')),
    write(TMPFILES, unit('rowsync.tmpfiles.conf')),
    // By name, so that systemd looks for them in the folder that is set up.
    run(false, 'systemd-sysusers', basename(SYSUSERS)),
    run(false, 'systemd-tmpfiles', '--create', basename(TMPFILES)),
    // What an administrator wrote is never written over.
    ...(config === null ? [] : [write(paths.config, config, 0o644, true)]),
    ...(token === null ? [] : [write(paths.token, token, 0o600)]),
    ...SERVICE_UNITS.map((file) => write(`${UNIT_FOLDER}/${file}`, withProgram(unit(file), program))),
    run(true, 'systemctl', 'daemon-reload'),
    run(false, 'systemctl', 'enable', `rowsync@${name}.service`),
    run(true, 'systemctl', 'restart', `rowsync@${name}.service`),
  ];
}

/** The steps that stop and remove the service; configuration, token and replica stay. */
export function planUninstall(name: string, isLast: boolean): readonly ServiceStep[] {
  const files = [...SERVICE_UNITS.map((file) => `${UNIT_FOLDER}/${file}`), SYSUSERS, TMPFILES];
  return [
    run(true, 'systemctl', 'stop', `rowsync@${name}.service`),
    run(false, 'systemctl', 'disable', `rowsync@${name}.service`),
    // The units serve every instance.
    ...(isLast ? files.map((path): ServiceStep => ({ kind: 'remove', path })) : []),
    run(true, 'systemctl', 'daemon-reload'),
  ];
}

function run(isLive: boolean, ...command: readonly [string, ...string[]]): ServiceStep {
  return { kind: 'run', command, isLive };
}

/** The unit with the real program in ExecStart, quoted as systemd reads it. */
function withProgram(text: string, program: readonly string[]): string {
  const quoted = program.map((word) =>
    /^[\w@/.=:,+-]+$/.test(word) ? word : `"${word.replaceAll('%', '%%').replaceAll(/["\\$]/g, String.raw`\$&`)}"`,
  );
  return text.replace(`ExecStart=${PACKAGED_PROGRAM} `, () => `ExecStart=${quoted.join(' ')} `);
}

/** A configuration to begin with, for an instance. */
export function firstConfig(name: string, origin: { readonly url: string; readonly database: string }): string {
  return `# rowsync@${name}.service; every option stands in rowsync.example.yaml. After a change: systemctl reload rowsync@${name}
origin:
  url: ${JSON.stringify(origin.url)}
  database: ${JSON.stringify(origin.database)}
  tokenFile: \${CREDENTIALS_DIRECTORY}/token # systemd hands over ${servicePaths(name).token}
replica:
  path: /var/lib/rowsync/${name}/replica.db
  shared: true # members of the group rowsync may use it
schedule:
  sync: '*/5 * * * *'
http:
  listen: /run/rowsync/${name}/http.sock
`;
}
