// Package changes says what a change of the rules would do: it reads past calls out of a record, writes a rule that
// waits for a person into a file, and says what that rule would have changed.
package changes
