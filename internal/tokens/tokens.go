// Package tokens approximates how many tokens a language model reads in a text. It needs no vocabulary, so that it adds
// nothing to the binary, and the same text always has the same number.
//
// Real tokenizers differ from each other, and from [Count] by up to a tenth on the texts that this project counts;
// docs/savings.md has the measured differences.
package tokens

import (
	"unicode"
	"unicode/utf8"
)

// Method names the approximation, for reports.
const Method = "approximate tokens: words of up to 9 letters, 3 digits, 4 signs"

// The longest pieces of a text that are one token.
const (
	lower  = 9 // letters of a word
	upper  = 2 // capitals of a word that is all capitals
	digits = 3
	signs  = 4
)

// Count is the approximate number of tokens in a text. A word is one token for each nine letters or part of that; words
// end where a capital follows a small letter. A number has a token for each three digits, a row of signs one for each
// four, and every character outside ASCII is one. The end of a line is one with the indentation of the next line; so
// are two or more blanks, and a single blank belongs to the word behind it.
func Count(text string) int {
	n := 0
	for len(text) > 0 {
		size, tokens := piece(text)
		n += tokens
		text = text[size:]
	}
	return n
}

// piece is the size of the first piece of a text, and how many tokens it has.
func piece(text string) (size, tokens int) {
	switch c := text[0]; {
	case isUpper(c):
		all := run(text, isUpper)
		if all > 1 {
			return all, parts(all, upper)
		}
		all += run(text[1:], isLower)
		return all, parts(all, lower)
	case isLower(c):
		all := run(text, isLower)
		return all, parts(all, lower)
	case isDigit(c):
		all := run(text, isDigit)
		return all, parts(all, digits)
	case isEnd(c):
		all := run(text, isEnd)
		return all + run(text[all:], isBlank), 1
	case isBlank(c):
		all := run(text, isBlank)
		return all, min(all-1, 1)
	case c >= utf8.RuneSelf:
		r, size := utf8.DecodeRuneInString(text)
		if unicode.Is(unicode.Mn, r) { // a mark on the character before it
			return size, 0
		}
		return size, 1
	}
	all := run(text, isSign)
	return all, parts(all, signs)
}

// run is how many bytes at the beginning of a text are of a kind.
func run(text string, kind func(byte) bool) int {
	n := 0
	for n < len(text) && kind(text[n]) {
		n++
	}
	return n
}

func parts(n, each int) int { return (n + each - 1) / each }

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isEnd(c byte) bool   { return c == '\n' || c == '\r' }
func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isSign(c byte) bool {
	return c < utf8.RuneSelf && !isLower(c) && !isUpper(c) && !isDigit(c) && !isEnd(c) && !isBlank(c)
}
