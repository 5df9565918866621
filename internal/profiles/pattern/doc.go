// Package pattern reads and matches the patterns of rules: over tool names, and over text in conditions. The grammar is
// that of doublestar without its separator; a pattern that is slow to match, or that means something else in another
// pattern language, is an error with its position.
package pattern
