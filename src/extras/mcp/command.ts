/**
 * `rowsync mcp`: serves the replica to an agent over standard input and output.
 */
import type { Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import { problemsAt } from '../../daemon/account-facts.ts';
import { versionOf } from '../../cli/runtime/installation.ts';
import { loadNamedConfig } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';

const EXAMPLES = `
Speaks the Model Context Protocol, until its input ends. An agent lists tables, describes and queries them, and is told how old they are. It
changes nothing: edits that it proposes wait for a person (rowsync proposals). No secret is loaded; only the daemon asks the origin.

Example, for an agent's configuration:
  { "mcpServers": { "rowsync": { "command": "rowsync",
    "args": ["mcp", "--config", "/etc/rowsync/main.yaml"] } } }`;

export function addMcpCommand(program: Command, runner: Runner): void {
  program
    .command('mcp')
    .description('serve the replica to an agent (Model Context Protocol)')
    .addHelpText('after', EXAMPLES)
    .action(runner(serve));
}

async function serve(invocation: Invocation): Promise<number> {
  const { session } = invocation;
  // Before root becomes another user, who may not be able to read where rowsync is installed.
  const { serveAgents } = await import('./server.ts');
  const version = versionOf();
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const { askDaemonToRead, hearDaemon } = await import('../shared/daemon-client.ts');
  await serveAgents({
    replica: config.replica,
    readNow: (tables) => askDaemonToRead(config, tables),
    readAccount: async () =>
      problemsAt(config, { ...(await hearDaemon(config, invocation.extras)).facts, nowMs: session.clock.nowMs() }),
    version,
    clock: session.clock,
    input: session.stdin,
    output: session.stdout.stream,
    signal: session.stopSignal(),
  });
  return EXIT.done;
}
