// Package recorder keeps the record of an Evaluator: a record of package audit, whose place the configuration gives, or
// the latest entries in memory. It turns the entries of the Gate into entries of the record, and tells the outcome of a
// call.
package recorder
