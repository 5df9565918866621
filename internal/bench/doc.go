// Package bench measures what the product promises: that nothing gets out of a
// program ([Isolation]) and what a run costs ([Speed]). Its tests run test262, the suite of the JavaScript standard.
//
// Each runner drives the parts that a server drives, in the same order, and
// returns a report that prints itself as a table or as JSON. Reading flags and
// mapping reports to exit codes is the business of cmd/codemode.
package bench
