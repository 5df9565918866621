// Package audit keeps the record: what programs did, who decided it, and what each person saw.
//
// A [Record] writes entries to a database of package store. An entry that [Record.Write] returned for is on the
// disk; entries of calls that run at the same time share the sync that puts them there:
//
//	record := audit.New(audit.Options{Open: open, Key: key})
//	err := record.Write(ctx, call.Entry{Kind: audit.Call, State: audit.Running, Run: "r_8f2k", Call: 3, Tool: "fs__write"})
//
// Each process writes a chain of its own: an entry holds the hash of the one before it, over canonical JSON (RFC
// 8785). A [Checkpoint] is the signed end of a chain. The writer puts one into the database every few entries, and
// publishes one now and then, to a place that the owner of the database should not be able to change. A [Verifier]
// reads chains and exported files, and names the first entry that is not what was written.
//
// What a reader may rely on:
//
//   - A call was sent only if its entry of state running was on the disk before. If nobody knows whether it
//     happened, it ends as unknown, at the latest when the next process finds it open.
//   - Secrets are masked, and long values are cut, before anything is stored. What codemode itself says is never
//     masked. The record has a keyed digest of each value: equal values have equal digests, and nobody without the key can try
//     out likely values.
//   - Masking and cutting remove nothing from the record: the store has the values of up to 1 MiB beside the entry,
//     encrypted, and [Entry.Reveal] shows them to whoever has the key. The entry, and so its hash, has their digest.
//   - Nothing is left out silently. The record counts refusals that come in floods.
package audit
