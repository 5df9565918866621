// Package changes predicts the effect of a change of the rules: it reads past calls from a record, writes a proposed
// rule for a person's review into a file, and says what that rule would have changed.
package changes
