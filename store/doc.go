// Package store is the one database of codemode: the rows of the record, and what has to outlive a
// process: calls that wait for a person, grants, parked runs, overlays.
//
// A [DB] is an SQLite file of its own by default, or a PostgreSQL database that several replicas share:
//
//	db, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "codemode.db")})
//	db, err := store.Open(ctx, store.Options{URL: "postgres://..."})
//
// Both behave the same; package storetest has the test that says so.
//
// What a user may rely on:
//
//   - What a method acknowledged is on the disk, see [Sync].
//   - Entries are only ever added. The database itself refuses to change or delete one.
//   - A [Chain] has one writer at a time, and a writer finds out before it writes when the file was
//     deleted, replaced or truncated under it. The error is an [*Error], whose Reason is fit for programs.
//   - An approval is answered once and used once, a parked run is resumed once, whoever tries: the
//     database decides, not a lock in one process.
//
// What the bodies of rows mean is the business of others: package audit for entries, the evaluator for the rest.
package store
