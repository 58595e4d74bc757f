/**
 * What is certain about a change once its request has ended: that it was answered, that nothing happened, or neither. A
 * change is sent again only where it is certain that nothing happened; this table is the only place that says so. Pure.
 *
 * Certain are a request that never left, or whose body we broke off ourselves, and answers by which a server refuses to begin. A 4xx of RFC 9110 and
 * 6585 (the request was not acted on), and a redirect to where the same request would have to go. A 503 counts only with the API's own descriptor.
 * Gateways also answer it when they lose the server in the middle of its work. Servers send 302 and 303 when the work is done and the result is
 * elsewhere. A page in place of a 4xx is no answer of the API at all: firewalls that look at answers put one there after the work was done.
 */

/** How a request ended, as far as it matters here. */
export type ChangeEnd =
  | { readonly kind: 'fault'; readonly isSent: boolean }
  | {
      readonly kind: 'answer';
      readonly status: number;
      /** Whether the API's own words came with it. */
      readonly hasDescriptor: boolean;
      /** Whether another client's page came with it. */
      readonly isPage: boolean;
    };

/**
 * `read`: the statuses of the rows decide · `refused`: nothing happened, and the same request would be refused again ·
 * `again`: nothing happened, and the same request may succeed later · `unknown`: it may have happened.
 */
export type ChangeVerdict = 'read' | 'refused' | 'again' | 'unknown';

/** Redirects that ask for the same request at another address (RFC 9110, 15.4; 301 is never followed with a change here). */
const NOT_ACTED_ON: ReadonlySet<number> = new Set([301, 307, 308]);

/** The verdict on one attempt at a change. */
export function verdictOnChange(end: ChangeEnd): ChangeVerdict {
  if (end.kind === 'fault') return end.isSent ? 'unknown' : 'again';
  const { status, hasDescriptor, isPage } = end;
  if (status === 200) return 'read';
  if (status === 429 || (status === 503 && hasDescriptor)) return 'again';
  if ((status >= 400 && status < 500 && !isPage) || NOT_ACTED_ON.has(status)) return 'refused';
  return 'unknown';
}
