// Package bench measures what the product promises: that programs cannot escape ([Isolation]) and what a run costs
// ([Speed]). Its tests run test262, the suite of the JavaScript standard.
//
// Each runner uses the same parts as a server, in the same order, and returns a report that prints itself as a table or
// as JSON. Package cmd/codemode reads flags and maps reports to exit codes.
package bench
