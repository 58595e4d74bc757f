/**
 * Every extra, in the order of the help. Removing one takes its line here, and its folder below extras/.
 */
import type { Extra } from './extra.ts';
import { BACKUP } from './extras/backup/extra.ts';
import { CHECK } from './extras/check/extra.ts';
import { CONTRACTS } from './extras/contracts/extra.ts';
import { DEMO } from './extras/demo/extra.ts';
import { DOORBELL } from './extras/doorbell/extra.ts';
import { EXPORT } from './extras/export/extra.ts';
import { FILES } from './extras/files/extra.ts';
import { FRESH } from './extras/fresh/extra.ts';
import { HISTORY } from './extras/history/extra.ts';
import { HTTP } from './extras/http/extra.ts';
import { IMPORT } from './extras/import/extra.ts';
import { MANUAL } from './extras/manual/extra.ts';
import { MCP } from './extras/mcp/extra.ts';
import { NOTICES } from './extras/notices/extra.ts';
import { PAGE } from './extras/page/extra.ts';
import { POSTGRES } from './extras/postgres/extra.ts';
import { PUTBACK } from './extras/putback/extra.ts';
import { QUESTIONS } from './extras/questions/extra.ts';
import { REHEARSE } from './extras/rehearse/extra.ts';
import { SCHEMA } from './extras/schema/extra.ts';
import { SERVICE } from './extras/service/extra.ts';
import { SETUP } from './extras/setup/extra.ts';
import { VERIFY } from './extras/verify/extra.ts';

export const EXTRAS: readonly Extra[] = [
  FILES,
  VERIFY,
  SCHEMA,
  DEMO,
  SETUP,
  CHECK,
  HISTORY,
  PUTBACK,
  MCP,
  POSTGRES,
  EXPORT,
  IMPORT,
  NOTICES,
  BACKUP,
  FRESH,
  CONTRACTS,
  SERVICE,
  PAGE,
  HTTP,
  DOORBELL,
  MANUAL,
  REHEARSE,
  QUESTIONS,
];
