/**
 * An agent: the SDK's client, connected to `rowsync mcp` as a child process, over a workspace that was pulled from a
 * sandbox.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { PROGRAM } from './program.ts';

/** What a tool answered. */
export interface ToolResult {
  readonly isError: boolean;
  /** The JSON of its one text. */
  readonly value: Record<string, unknown>;
  readonly text: string;
}

/** A connected agent; `await using` ends it and the server. */
export interface Agent {
  readonly client: Client;
  /** What the server wrote beside the protocol. */
  readonly said: () => string;
  call(tool: string, given?: Record<string, unknown>): Promise<ToolResult>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a server in a folder, as program.ts says unless another program is named, and connects to it. */
export async function startAgent(folder: string, program: readonly string[] = PROGRAM): Promise<Agent> {
  const [command = '', ...args] = program;
  const transport = new StdioClientTransport({ command, args: [...args, 'mcp'], cwd: folder, stderr: 'pipe' });
  let said = '';
  transport.stderr?.on('data', (chunk: Buffer) => (said += String(chunk)));
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  return {
    client,
    said: () => said,
    call: async (name, given = {}) => {
      const result = await client.callTool({ name, arguments: given });
      const [content] = result['content'] as [{ type: string; text: string }];
      const value = JSON.parse(content.text) as Record<string, unknown>;
      return { isError: result['isError'] === true, value, text: content.text };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
