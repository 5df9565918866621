// Package recorder keeps the record of an Evaluator: a record of package audit, at a place from the configuration, or
// the latest entries in memory. It converts the entries of the Gate to entries of the record, and reports the outcome
// of a call.
package recorder
