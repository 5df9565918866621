// Package recorder keeps what an Evaluator does in a record of package audit, whose place it takes from the configuration, or
// in memory. It turns what the Gate tells about a call into an entry, and says how a call ended.
package recorder
