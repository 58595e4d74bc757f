/** The picture of the demo in the README: the part of its output in which rows are edited and pushed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runRowsync } from '../support/child.ts';
import { terminalSvg } from './terminal.ts';

const TITLE = 'The demo edits rows in SQL, plans and pushes them, with a conflict and a refused row';

/** Runs the demo; returns the picture as SVG. */
export async function demoPicture(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-images-'));
  try {
    const { stdout } = await runRowsync(['demo'], { folder });
    const [, edits = ''] = stdout.split(/^(?=\d\. Push it)/m);
    const [shown = ''] = edits.split(/^That was all/m, 1);
    // How fast a machine is does not belong in the picture.
    const lines = shown.trimEnd().replaceAll(/ in \d+\.\d s\b/g, ' in 0.1 s');
    return terminalSvg(lines.split('\n'), TITLE);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
