/**
 * A person who puts rows back by the command: each time a process of its own, which may die anywhere, with the plan
 * that is made of what is known then.
 */
import type { EngineModules, Life } from '../world/engine.ts';
import { REFERENCES, TABLES } from './setup.ts';

/** What the person types. */
export type PutbackOrder =
  | { readonly kind: 'resume'; readonly again: boolean }
  | {
      readonly kind: 'rows';
      readonly table: string;
      readonly ids: readonly number[];
      readonly with: readonly string[];
    };

/** What the configuration says of every table. */
const RULES = {
  find: (name: string) => ({
    options: {
      references: Object.fromEntries(
        REFERENCES.filter(({ table }) => table === name).map(({ column, to }) => [column, to]),
      ),
    },
  }),
};

/** All that was lost, with what hangs on it, table by table. */
export const EVERYTHING: readonly PutbackOrder[] = TABLES.map((table) => ({
  kind: 'rows',
  table,
  ids: [],
  with: TABLES.filter((other) => other !== table),
}));

/** Carries the order out, as the command does. @throws RowsyncError whatever stops it. */
export async function putBack(
  modules: EngineModules,
  life: Life,
  order: PutbackOrder,
  replicaPath: string,
): Promise<void> {
  const place = await modules.makePlace(life.sides(), { workflow: null, isElsewhere: false });
  if (order.kind === 'resume') {
    await modules.describeAgain(place);
    await modules.carryOut(place, null, { again: order.again });
    return;
  }
  const main = modules.openReader(replicaPath);
  try {
    const lost = new modules.LostRows(main, { kind: 'deleted' });
    const chosen = modules.chooseRows(lost, { ...order, from: '', until: '9999' }, { tables: RULES });
    const facts = { ...chosen, config: { tables: RULES }, folders: [], revisions: false };
    const plan = await modules.makePlan(place, lost, facts);
    await modules.carryOut(place, plan, { again: false });
  } finally {
    main.close();
  }
}
