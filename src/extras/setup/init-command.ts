/**
 * `rowsync init`: writes a first configuration from answers at a terminal or from options, then runs `check`. It writes
 * nothing before it has all answers, and never replaces an existing file.
 */
import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import type { InitOptions, FirstFiles } from './init-questions.ts';
import type { Runner, Invocation } from '../../extra.ts';
import { EXIT, usageError } from '../../base/errors.ts';
import { ROWSYNC } from '../../cli/runtime/installation.ts';
import { loadSections } from '../../cli/runtime/invocation.ts';
import { looksLikeToken } from '../../config/secrets.ts';
import { answerComplaints, firstConfigText, readAddress, type PushedTable } from './init-config.ts';
import { become, ownerOf } from '../../cli/runtime/process-owner.ts';
import { writeNewFile } from '../shared/new-file.ts';
import { Prompter } from '../shared/prompts.ts';
import { printable, shellWord } from '../../base/text.ts';
import { checkAndPrint } from '../check/command.ts';

const EXAMPLES = `
At a terminal it asks for what no option says. The token is not shown while you type or paste it. It goes into the file "token" beside
the configuration, or into the one that --token-file names, which only you may read. A token that is already there is used.
The configuration is written to the file that --config names (default: rowsync.yaml), which must not exist yet, once the origin
has answered and has the tables of --push.

Examples:
  rowsync init
  rowsync init --url https://www.teamdesk.net/secure/db/21995/overview.aspx \\
    --token-file token --table '*' --push 'Customer=External Id'`;

export function addInitCommand(program: Command, runner: Runner): void {
  program
    .command('init')
    .description('write a first configuration, and check it')
    .option('--url <address>', 'the address of the database, as the browser shows it')
    .option('--database <number>', 'its number, where the address does not have it')
    .option('--token-file <file>', 'a file that holds an API token')
    .option('--proxy <address>', 'a proxy that every request goes through; environment for that of HTTPS_PROXY')
    .option('--proxy-user <name>', 'the user name that the proxy wants')
    .option('--proxy-password-file <file>', 'a file that holds the password for the proxy')
    .option('--ca-file <file>', 'certificates of authorities to trust beside the usual ones')
    .option('--replica <file>', 'the SQLite file to keep (default: replica.db)')
    .option('--table <pattern...>', 'tables to copy (default: all)')
    .option('--push <table...>', 'tables whose edits are pushed, as TABLE or TABLE=MATCH COLUMN')
    .addHelpText('after', EXAMPLES)
    .action(runner(writeFirstConfig));
}

async function writeFirstConfig(invocation: Invocation, options: InitOptions): Promise<number> {
  const { session } = invocation;
  const file = resolve(session.folder, invocation.configPath ?? 'rowsync.yaml');
  if (existsSync(file)) {
    throw usageError(`${file} exists already`, 'Edit it and run rowsync check, or name another file with --config.');
  }
  requireFileName(options.tokenFile, session.folder);
  // Root reads and writes nothing of its own in the folder of another user.
  const owner = ownerOf(dirname(file));
  if (owner !== null) {
    await import('./init-questions.ts'); // the owner may not be able to read where rowsync is installed
    become(owner);
  }
  const { answers, token } =
    session.stdin.isTTY === true
      ? await askAll(invocation, options, file)
      : await fromOptions(invocation, options, file);
  const complaints = answerComplaints(answers, await loadSections(invocation));
  if (complaints.length > 0) throw usageError(complaints.join('; '), 'Nothing was written.');
  // Relative paths of a configuration start from its folder.
  const inFolder = (path: string): string => shortPath(dirname(file), resolve(session.folder, path));
  const { tokenFile, replicaPath, proxy, caFile } = answers;
  const written = {
    ...answers,
    tokenFile: inFolder(tokenFile),
    replicaPath: inFolder(replicaPath),
    caFile: caFile === undefined ? undefined : inFolder(caFile),
    proxy:
      typeof proxy === 'object' && proxy.passwordFile !== undefined
        ? { ...proxy, passwordFile: inFolder(proxy.passwordFile) }
        : proxy,
  };
  const tokenPath = resolve(session.folder, tokenFile);
  if (token !== null) writeNewFile(tokenPath, `${token}\n`);
  writeNewFile(file, firstConfigText(written), 0o644);
  for (const path of token === null ? [file] : [tokenPath, file]) {
    await session.stderr.write(`written: ${printable(path)}\n`);
  }
  const exitCode = await checkAndPrint({ ...invocation, configPath: file });
  if (!invocation.isJson && exitCode === EXIT.done) await session.stdout.write(nextText(invocation.configPath));
  return exitCode;
}

function nextText(configPath: string | undefined): string {
  const named = configPath === undefined ? '' : ` --config ${shellWord(configPath)}`;
  const lines = [
    `${ROWSYNC} pull${named}      copies the tables`,
    `${ROWSYNC} status${named}    says how fresh they are`,
    `${ROWSYNC} daemon${named}    keeps them so; on a server: rowsync service --help`,
  ];
  return `\nnext:\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

async function askAll(invocation: Invocation, options: InitOptions, file: string): Promise<FirstFiles> {
  const { askAnswers } = await import('./init-questions.ts');
  using prompter = new Prompter(invocation.session);
  await prompter.say(`This writes ${file}; nothing is written before the last question.`);
  return await askAnswers(prompter, invocation, { ...options, file, pushed: options.push?.map(pushedTable) });
}

/** Who gives the token where its file belongs must not get a file of that name. */
function requireFileName(tokenFile: string | undefined, folder: string): void {
  if (tokenFile === undefined || !looksLikeToken(tokenFile) || existsSync(resolve(folder, tokenFile))) return;
  throw usageError(
    '--token-file takes the name of a file, and what was given looks like a token itself',
    'Leave the option out: rowsync init asks for the token and keeps it in a file. The history of your shell may hold the token now.',
  );
}

/** Without a terminal, the options must say everything, and rightly. @throws RowsyncError as `checkAnswers`. */
async function fromOptions(invocation: Invocation, options: InitOptions, file: string): Promise<FirstFiles> {
  const { folder } = invocation.session;
  const address = options.url === undefined ? null : readAddress(options.url);
  const database = options.database ?? address?.database ?? null;
  const usual = join(dirname(file), 'token');
  const tokenFile = options.tokenFile ?? (existsSync(usual) ? usual : undefined);
  const missing = [
    ...(address === null ? ['--url ADDRESS (of the database, as the browser shows it)'] : []),
    ...(database === null ? ['--database NUMBER (or an address with /db/NUMBER in it)'] : []),
    ...(tokenFile === undefined
      ? ['--token-file FILE (that holds an API token; by default the file token beside the configuration)']
      : []),
  ];
  if (address === null || database === null || tokenFile === undefined) {
    throw usageError(
      `Not running in a terminal, so these options are required: ${missing.join(', ')}`,
      'Nothing was written.',
    );
  }
  if (!existsSync(resolve(folder, tokenFile))) {
    throw usageError(`There is no file ${tokenFile}`, 'Put the API token into it first: (umask 077 && cat > FILE).');
  }
  const { checkAnswers, routeOptions } = await import('./init-questions.ts');
  const pushed = (options.push ?? []).map(pushedTable);
  const replicaPath = options.replica ?? 'replica.db';
  const tables = options.table ?? ['*'];
  const answers = { url: address.url, database, tokenFile, ...routeOptions(options), replicaPath, tables, pushed };
  return { answers: { ...answers, pushed: await checkAnswers(invocation, options, answers) }, token: null };
}

/** `Customer=External Id`, or `Customer`. */
function pushedTable(text: string): PushedTable {
  const [table = '', ...match] = text.split('=');
  return { table: table.trim(), match: match.length === 0 ? null : match.join('=').trim() };
}

function shortPath(folder: string, path: string): string {
  const short = relative(folder, path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : short;
}
