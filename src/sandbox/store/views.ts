/**
 * Views from their specs to their bookkeeping rows, which catalog.ts reads. A view's filter is kept as text; it may
 * name columns by alias.
 */
import { must } from '../../base/assert.ts';
import { sortKeyFromText } from '../../wire/query.ts';
import { findByName, type ViewShown } from './catalog.ts';
import type { StoreConnection } from './file.ts';
import type { ViewSpec } from './spec.ts';

/** A column as far as a view must know it. */
interface ViewColumn {
  readonly id: number;
  readonly name: string;
  readonly alias: string;
}

/** Writes a view of a table down. `columns` are those of the table. */
export function insertView(
  connection: StoreConnection,
  place: { readonly id: number; readonly tableId: number; readonly columns: readonly ViewColumn[] },
  spec: ViewSpec,
): void {
  const idOf = (name: string): number =>
    must(findByName(place.columns, name), `the sandbox's view "${spec.name}" refers to a column "${name}"`).id;
  const groups = (spec.groups ?? []).map((group) => {
    const [, name = '', suffix = ''] = must(/^(.+)\/\/([^/]+)$/s.exec(group), `"${group}" has the form of a group`);
    return { columnId: idOf(name), suffix };
  });
  const sort = (spec.sort ?? []).map((text) => {
    const { column, descending } = sortKeyFromText(text);
    return { columnId: idOf(column), descending: descending === true };
  });
  const shown: ViewShown = { columnIds: spec.columns?.map(idOf) ?? null, groups, sort, filter: spec.filter ?? null };
  connection
    .prepare(
      `INSERT INTO _sandbox_views (id, table_id, name, alias, type, show_in_menu, actions, shown, roles)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      place.id,
      place.tableId,
      spec.name,
      `v_${place.id}`,
      spec.type ?? 'Table',
      (spec.showInMenu ?? true) ? 1 : 0,
      JSON.stringify(spec.actions ?? ['Add', 'Edit', 'View', 'Delete']),
      JSON.stringify(shown),
      spec.roles === undefined ? null : JSON.stringify(spec.roles),
    );
}
