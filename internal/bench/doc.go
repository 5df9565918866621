// Package bench has what measures the promises of the product: the attack suite ([Suite]), this build as an engine that
// runs it ([Serve]), and what a run costs ([Speed]). Package engine runs the suite and judges how its programs end. The
// tests here run test262, the suite of the JavaScript standard.
//
// Programs run through the same parts as in a server, in the same order. Package cmd/codemode reads flags and maps
// reports to exit codes.
package bench
