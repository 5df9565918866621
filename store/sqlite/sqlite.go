// Package sqlite lets codemode keep its record and all else that outlives a process in a file, which is what
// [codemode.Options.RecordDir] does unless the configuration names another place. A program that does so imports it for
// this effect alone:
//
//	import _ "github.com/codemode-project/codemode/store/sqlite"
//
// [codemode.Options.RecordDir]: https://pkg.go.dev/github.com/codemode-project/codemode#Options
package sqlite

import _ "modernc.org/sqlite" // registers the driver "sqlite"
