/**
 * Where each planted bug was found, tried before anything is hunted for: a hint and no promise, since a seed is another world
 * once the engine asks in another order. `npm run mutants -- --only NAME` finds another one where a hint is out of date.
 */

/** A world: of a seed, one that is kept in the corpus, or a short story (scenarios.ts) with what goes wrong in it. */
export type Hint =
  | { readonly seed: number }
  | { readonly kept: string }
  | { readonly story: string; readonly at: string };

/** A test that fails, for what worlds do not have: consents, time zones, numbers. */
export interface OwningTest {
  readonly test: string;
}

/** By the name of the mutant, or the names of a pair with a plus. */
export const FOUND_IN: Readonly<Record<string, Hint | OwningTest>> = {
  'etag-before-rows': { story: 'conflict-origin', at: '' },
  'etag-of-unreadable-page': { story: 'first-pull', at: '15:cellOfOtherType' },
  'etag-of-another-question': { story: 'smaller-pages', at: '' },
  'torn-pages-by-etag': { story: 'pages-under-one-etag', at: '22:otherAnswer' },
  'pages-without-overlap': { story: 'first-pull-shrinking', at: '' },
  'torn-pages-accepted': { story: 'first-pull-shrinking', at: '' },
  'absence-is-a-delete': { story: 'pushed-and-undone', at: '' },
  'forbidden-is-gone': { story: 'pushed-and-undone', at: '83:status403' },
  'left-rows-unsuspected': { story: 'older-copy', at: '' },
  'dropped-pages-unsuspected': { story: 'pages-vanish', at: '' },
  'older-page-clears': { story: 'pushed-and-undone', at: '' },
  'suspicion-of-the-older-page': { seed: 1281 },
  'settled-creates-not-durable': { seed: 2499 },
  'consent-of-a-pull-is-kept': { test: 'test/replica/consent.test.ts' },
  'consent-of-a-push-is-kept': { test: 'test/replica/consent.test.ts' },
  'consent-is-not-spent': { test: 'test/replica/consent.test.ts' },
  'autumn-hour-without-offset': { test: 'test/wire/zone.test.ts' },
  'rounded-number-is-another': { test: 'test/push/values.test.ts' },
  'identity-change-ignored': { story: 'role-narrowed', at: '' },
  'resumed-sweep-is-enough': { story: 'pull-cut-short', at: '' },
  'new-shape-old-etags': { story: 'columns-swapped-in-a-pull', at: '' },
  'null-by-equals': { story: 'keyed-create', at: '' },
  'writer-flag-left-on': { story: 'first-pull', at: '' },
  'marks-are-trusted': { story: 'edit-around-triggers', at: '' },
  'schema-change-ignored': { story: 'trigger-gone-again', at: '' },
  'pushed-rows-unsuspected': { story: 'pushed-and-undone', at: '' },
  'caller-asked-once-in-a-pull': { kept: 'rights-lost-in-a-pull.json' },
  'shape-asked-once-in-a-pull': { story: 'columns-swapped-in-a-pull', at: '' },
  'opened-without-a-look': { story: 'columns-swapped-in-a-first-pull', at: '' },
  'tampering-ignored': { seed: 564 },
  'triggers-over-mirrors-ignored': { seed: 73 },
  'strangers-in-mirrors': { kept: 'strangers-in-a-mirror.json' },
  'settled-creates-not-counted': { kept: 'renamed-since-the-copy.json' },
  'policy-ignored': { story: 'conflict-local', at: '' },
  'guard-holds-every-delete': { story: 'pages-vanish', at: '' },
  'policy-of-the-origin-ignored': { seed: 820010 },
  'conflict-loser-dropped': { story: 'conflict-origin', at: '' },
  'delete-there-beats-edit-here': { story: 'colleague-deletes-edited', at: '' },
  'delete-here-beats-edit-there': { story: 'colleague-edits-deleted', at: '' },
  'remote-over-local': { story: 'edit-again-in-flight', at: '' },
  'intent-not-durable': { story: 'edit', at: '' },
  'any-row-with-the-value': { story: 'value-of-another-row', at: '34:lostBefore' },
  'restart-sends-again': { story: 'unkeyed-create', at: '38:kill' },
  'blind-create': { story: 'unkeyed-create-rewritten', at: '34:lostAfter' },
  'retried-in-vain': { seed: 5 },
  'refused-update-is-settled': { seed: 30 },
  'absence-under-any-caller': { kept: 'looked-for-by-another-role.json' },
  'absent-create-in-doubt': { story: 'keyed-create', at: '40:lostBefore' },
  'refused-with-its-neighbours': { story: 'edit', at: '43:status409' },
  'no-lookup-by-value': { story: 'colleague-deletes-in-flight', at: '43:lostAfter' },
  'no-question-before-insert': { story: 'older-copy-of-a-create', at: '' },
  'acceptance-settles-newer-edits': { story: 'edit-again-in-flight', at: '' },
  'base-from-what-was-sent': { story: 'colleague-edits-before-push', at: '' },
  'statuses-by-position': { story: 'unkeyed-create', at: '37:statusMissing' },
  'server-error-is-a-refusal': { story: 'unkeyed-create', at: '37:status500After' },
  'lost-answer-sends-again': { story: 'unkeyed-create', at: '37:lostAfter' },
  'no-question-before-update': { story: 'older-copy-of-a-create', at: '' },
  'every-cell-is-sent': { story: 'edit', at: '' },
  'null-is-not-sent': { story: 'edit', at: '' },
  'created-rows-unsuspected': { story: 'created-and-deleted-there', at: '' },
  'shape-not-checked': { story: 'columns-swapped-before-push', at: '' },
  'copy-not-noticed': { story: 'older-copy-of-an-unkeyed-create', at: '' },
  'every-start-is-of-a-copy': { seed: 1 },
  'creates-not-counted': { story: 'older-copy-while-an-unkeyed-create-is-on-its-way', at: '' },
  'pages-without-overlap+absence-is-a-delete': { story: 'first-pull-moving', at: '' },
  'caller-asked-once-in-a-push': { kept: 'rights-lost-in-a-push.json' },
  'tampering-ignored+schema-change-ignored': { story: 'edit-around-triggers', at: '' },
  'no-lookup-by-value+no-question-before-insert': { story: 'create-cut-short-and-edited-there', at: '' },
  'content-not-synced': { story: 'attachment-down', at: '' },
  'names-not-synced': { story: 'attachment-down', at: '' },
  'new-store-not-synced': { story: 'attachment-down', at: '' },
  'row-before-file': { story: 'attachment-down', at: '' },
  'length-not-compared': { story: 'attachment-down', at: '58:truncated' },
  'lost-upload-not-compared': { seed: 1870 },
  'number-is-enough': { kept: 'number-of-a-revision-again.json' },
  'any-revision-is-ours+number-is-enough': { seed: 943 },
  'former-file-is-an-edit': { test: 'test/reconcile/push-settle.test.ts' },
  'failed-files-forgotten': { story: 'attachment-down', at: '58:status404' },
  'refused-though-edited': { story: 'refused-and-deleted-on-its-way', at: '' },
  'unseen-edits-leave-refusals': { kept: 'refused-and-deleted-unseen.json' },
};
