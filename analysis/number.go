package analysis

import (
	"encoding/json"
	"math"
	"strconv"
)

// numeral returns the value of a number literal.
func numeral(s string) (float64, bool) {
	if len(s) > 1 && s[0] == '0' && !isDigit(s[1]) && s[1] != '.' && s[1]|0x20 != 'e' {
		n, err := strconv.ParseUint(s, 0, 64)
		return float64(n), err == nil
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

// numberKey returns the property that a number names.
func numberKey(s string) string {
	f, ok := numeral(s)
	if !ok || math.IsInf(f, 0) {
		return s
	}
	return numberJSON(f)
}

// numberJSON returns a number as JSON.stringify prints it.
func numberJSON(f float64) string {
	if f == 0 {
		return "0" // also for -0
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "null"
	}
	b, _ := json.Marshal(f)
	return string(b)
}
