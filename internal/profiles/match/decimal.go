package match

import (
	"cmp"
	"strconv"
	"strings"
)

// A decimal is the exact value of a written number of any size: 0.1 is a tenth and not the nearest float. Its value is
// 0.digits times ten to the power of exponent.
type decimal struct {
	negative bool
	digits   string // without zeros at either end; "" is zero
	exponent int64
}

// parseDecimal reads a number as JSON writes it. Anything else, such as "1,000", "0x10", " 5" or "1_0", is not a
// number: upstreams interpret it differently.
func parseDecimal(s string) (decimal, bool) {
	var d decimal
	s, d.negative = strings.CutPrefix(s, "-")
	mantissa, power, hasPower := s, "", false
	if i := strings.IndexAny(s, "eE"); i != -1 {
		mantissa, power, hasPower = s[:i], s[i+1:], true
	}
	whole, fraction, hasFraction := strings.Cut(mantissa, ".")
	if !isDigits(whole) || len(whole) > 1 && whole[0] == '0' || hasFraction && !isDigits(fraction) {
		return decimal{}, false
	}
	if hasPower {
		var err error
		// Nobody means a number with an exponent of more than 32 bits.
		if d.exponent, err = strconv.ParseInt(power, 10, 32); err != nil {
			return decimal{}, false
		}
	}
	d.exponent += int64(len(whole))
	digits := whole
	if hasFraction {
		digits += fraction
	}
	significant := strings.TrimLeft(digits, "0")
	d.exponent -= int64(len(digits) - len(significant))
	d.digits = strings.TrimRight(significant, "0")
	if d.digits == "" {
		return decimal{}, true // minus zero is zero
	}
	return d, true
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func (d decimal) isInteger() bool {
	return d.digits == "" || int64(len(d.digits)) <= d.exponent
}

// compare returns -1, 0 or 1 as d is less than, equal to or greater than e.
func (d decimal) compare(e decimal) int {
	if s, t := d.sign(), e.sign(); s != t || s == 0 {
		return cmp.Compare(s, t)
	}
	order := cmp.Compare(d.exponent, e.exponent)
	if order == 0 {
		order = strings.Compare(d.digits, e.digits) // no trailing zeros: text order equals value order
	}
	if d.negative {
		return -order
	}
	return order
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}
