/**
 * The HTML of the headline (headline.ts) and of the lines at the bottom of the first page (today.ts). Every text is escaped (html.ts).
 */
import { stampFromMs } from '../../base/clock.ts';
import { bytesText, durationText } from '../../base/text.ts';
import type { Problem } from '../../reconcile/account/account.ts';
import type { ProblemCode } from '../../reconcile/account/problems.ts';
import type { ReplicaIdentity } from '../../replica/reader.ts';
import type { DaemonState } from '../../daemon/state.ts';
import type { OpenDecisions } from './decisions.ts';
import type { Headline } from './headline.ts';
import { html, type Html } from './html.ts';

/** Problems in the list. */
const LISTED_MAX = 500;

/** The sentence at the top, with things to do. */
export function headlineHtml({ tone, sentence, note, problems }: Headline, desk: OpenDecisions): Html {
  return html`<section class="verdict ${tone}">
    <h1>${sentence}</h1>
    <p>${note}</p>
    ${
      problems.length === 0
        ? null
        : html`<ul class="todos">
            ${problems.slice(0, LISTED_MAX).map((problem) => problemHtml(problem, desk))}
          </ul>`
    }
    <form method="post" action="/cycle">
      <input type="hidden" name="token" value="${desk.formToken}" />
      <button>Synchronise now</button>
    </form>
  </section>`;
}

/** The part of the page where rows of a problem are decided. */
const PARTS: Partial<Readonly<Record<ProblemCode, string>>> = {
  'rows.conflicts': 'conflicts',
  'rows.inDoubt': 'waiting',
  'rows.refused': 'waiting',
  'rows.unreadable': 'waiting',
  'rows.unsendable': 'waiting',
};

function problemHtml({ code, table, sentence, hint }: Problem, desk: OpenDecisions): Html {
  const part = PARTS[code];
  return html`<li>
    ${
      table === null
        ? null
        : html`<b><bdi>${table}</bdi></b
            >${' '}`
    }
    ${part === undefined ? html`<span>${sentence}</span>` : html`<a href="#${part}">${sentence}</a>`}
    ${hint === '' ? null : html`<span class="hint">${hint}</span>`}
    ${
      code !== 'table.held' && code !== 'run.held'
        ? null
        : html`<form method="post" action="/decide">
            <input type="hidden" name="token" value="${desk.formToken}" /><input
              type="hidden"
              name="kind"
              value="confirm"
            />${
              table === null
                ? null
                : html`<input type="hidden" name="table" value="${encodeURIComponent(table.toWellFormed())}" />`
            }
            <input type="hidden" name="shown" value="${encodeURIComponent(sentence.toWellFormed())}" />
            <button>Let it through</button>
          </form>`
    }
  </li>`;
}

/** The replica, the calling user, and the addresses for programs. */
export function bottomHtml({
  replica,
  identity,
  state,
  nowMs,
}: {
  readonly replica: { readonly path: string; readonly bytes: number };
  /** Null before the first pull. */
  readonly identity: ReplicaIdentity | null;
  readonly state: DaemonState;
  readonly nowMs: number;
}): Html {
  return html`<footer class="bottom">
    <p><code>${replica.path}</code>, ${bytesText(replica.bytes)}</p>
    ${
      identity === null
        ? null
        : html`<p>as <bdi>${identity.userEmail}</bdi>, <bdi>${identity.role}</bdi>, ${identity.timeZone}</p>`
    }
    <p>
      running for ${durationText(nowMs - state.startedAtMs)} · shown at ${stampFromMs(nowMs)} ·
      <a href="/status">status as JSON</a> · <a href="/metrics">metrics</a>
    </p>
  </footer>`;
}
