// Package store is the only database of codemode: the rows of the record, and data that must outlive a
// process: calls that wait for a person, grants, parked runs, overlays.
//
// A [DB] is an SQLite file of its own by default, or a PostgreSQL database that several replicas share:
//
//	db, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "codemode.db")})
//	db, err := store.Open(ctx, store.Options{URL: "postgres://..."})
//
// Both behave the same; package storetest has the test that checks this.
//
// What a user may rely on:
//
//   - What a method acknowledged is on disk, see [Sync].
//   - Entries are only ever added. The database itself refuses to change or delete one.
//   - A [Chain] has one writer at a time, and a writer finds out before it writes when the file was
//     deleted, replaced or truncated under it. The error is an [*Error] with a Reason that programs may see.
//   - An approval is answered once and used once, a parked run is resumed once: the
//     database decides, not a lock in one process.
//
// Other packages define the bodies of rows: package audit for entries, the evaluator for the rest.
package store
