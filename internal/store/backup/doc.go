// Package backup copies the database of codemode to a file while processes use it, and makes a database of such a file.
//
// A backup is an SQLite file for both kinds of database, with the rows of one moment, so that either kind can be made
// of it:
//
//	contents, err := backup.Write(ctx, place.Store, key, "/elsewhere/codemode.backup", false)
//	report, err := backup.Restore{To: place.Store, Key: key}.From(ctx, "/elsewhere/codemode.backup")
//
// What a user may rely on:
//
//   - Write holds one row in memory, and never more. It waits for no writer, and no writer waits for it.
//   - From takes a file that is exactly what Write wrote, made with the same key of the record: a digest covers every
//     row. It fills a database that has nothing in it, completely or not at all.
//   - The record says that it was restored, see [audit.Restoration]. What could happen twice does not come back by
//     itself: waiting runs, open questions, and remembered answers.
//   - Neither the keys of the state folder nor the configuration are in a backup. Sealed rows stay sealed.
package backup
