package ecmascript

import (
	"encoding/json"
	"math"
	"strconv"
)

// ParseNumber returns the value of a number literal.
func ParseNumber(s string) (float64, bool) {
	if len(s) > 1 && s[0] == '0' && !isDigit(s[1]) && s[1] != '.' && s[1]|0x20 != 'e' {
		n, err := strconv.ParseUint(s, 0, 64)
		return float64(n), err == nil
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

// NumberKey returns the property that a number literal names.
func NumberKey(s string) string {
	f, ok := ParseNumber(s)
	if !ok || math.IsInf(f, 0) {
		return s
	}
	return FormatNumber(f)
}

// FormatNumber returns a number as JSON.stringify prints it.
func FormatNumber(f float64) string {
	if f == 0 {
		return "0" // also for -0
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "null"
	}
	b, _ := json.Marshal(f)
	return string(b)
}
