// Package config reads configuration files, follows them while they change, and says what changing them would do.
//
// [Load] checks a whole file and reports everything that is wrong with it at once, each with file, line, column and a
// way out; a file with a problem is not used in part. What comes out is a [Config], with a [profiles.Profile] for every
// profile of the file, and neither changes ever after.
//
// Several files may hold together, see [ParseAll]: that of whoever runs the machine, the user's own, a project's, which
// only tightens until somebody trusts it, and variables of the environment. An [Overlay] narrows single sessions,
// callers or programs, see [Config.Narrowed]. [WatchFiles] follows files while they are edited and keeps the last good
// state in force.
//
// The tools about rules are here too: [Config.Lint] holds rules against tools, [Config.Try] decides a table of calls.
// What a change of the rules would do is said by package changes.
package config
