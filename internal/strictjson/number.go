package strictjson

import (
	"bytes"
	"strconv"
	"strings"
)

// maxExponent is how many digits an exponent may have, without leading zeros, as it is written and in canonical form.
// RFC 8259, section 6, lets an implementation set such a limit. With it, 64 bits are enough for every exponent.
const maxExponent = 15

// safeLength is a length up to which a number without an exponent is within the range of a double.
const safeLength = 300

// word reads null, true or false.
func (p *parser) word() (Kind, bool) {
	n := p.wordLength()
	kind := Missing
	switch p.src[p.at : p.at+n] {
	case "null":
		kind = Null
	case "true":
		kind = True
	case "false":
		kind = False
	default:
		p.notAValue()
		return Missing, false
	}
	p.at += n
	return kind, true
}

// number reads a number exactly as RFC 8259, section 6, has it.
func (p *parser) number() bool {
	start, exponent := p.at, -1
	if p.peek() == '-' {
		p.at++
	}
	switch {
	case p.peek() == '0':
		p.at++
	case !p.digits():
		return p.notANumber(start)
	}
	if p.peek() == '.' {
		p.at++
		if !p.digits() {
			return p.notANumber(start)
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		exponent = p.at
		if !p.digits() {
			return p.notANumber(start)
		}
	}
	if c := p.peek(); c == '.' || isWord(c) {
		return p.notANumber(start)
	}
	if exponent >= 0 || p.at-start > safeLength {
		return p.inRange(start, exponent)
	}
	return true
}

func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.src) && p.src[p.at] >= '0' && p.src[p.at] <= '9' {
		p.at++
	}
	return p.at > start
}

// inRange refuses a number that is too large. The digits of its exponent begin at exponent; -1 means that it has none.
func (p *parser) inRange(start, exponent int) bool {
	text := p.src[start:p.at]
	if exponent >= 0 && longExponent(text, strings.TrimLeft(p.src[exponent:p.at], "0")) {
		p.fail(start, len(text), "a number with an exponent of more than 15 digits", "")
		return false
	}
	if p.AllowHugeNumbers {
		return true
	}
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		hint := "the largest is 1.7976931348623157e308; write a larger one as text"
		p.fail(start, len(text), "a number that is out of range", hint)
		return false
	}
	return true
}

func longExponent(number, exponent string) bool {
	if len(exponent) < maxExponent {
		return false // other digits of the number, at most a GiB of them, do not make up for ten times as much
	}
	if len(exponent) > maxExponent {
		return true
	}
	digits, point := decimal(nil, number)
	return len(digits) > 0 && (point-1 >= 1e15 || point-1 <= -1e15)
}

// decimal takes a number apart into 0.digits times ten to the power of point, without zeros at either end. Zero has no
// digits. The exponent fits: it has at most maxExponent digits.
func decimal(room []byte, s string) (digits []byte, point int64) {
	s = strings.TrimPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		point, _ = strconv.ParseInt(s[i+1:], 10, 64)
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	point += int64(len(whole))
	digits = append(append(room, whole...), fraction...)
	all := len(digits)
	digits = bytes.TrimLeft(digits, "0")
	point -= int64(all - len(digits))
	return bytes.TrimRight(digits, "0"), point
}
