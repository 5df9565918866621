package tau2

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// expression is the argument of calculate.
type expression struct {
	Expression string `json:"expression"`
}

// calculate is the value of an expression of numbers with + - * / and parentheses, rounded to cents. Its text has a
// point, as the text of a float has in Python.
func calculate(in expression) (string, error) {
	p := parser{rest: strings.ReplaceAll(in.Expression, " ", "")}
	x, ok := p.sum()
	if !ok || p.rest != "" || math.IsInf(x, 0) || math.IsNaN(x) {
		return "", errors.New("invalid expression")
	}
	text := strconv.FormatFloat(cents(x), 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text, nil
}

// cents rounds to two digits after the point.
func cents(x float64) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'f', 2, 64), 64)
	return x
}

// A parser reads an expression from its beginning.
type parser struct{ rest string }

// take removes one of the bytes from the beginning, and returns 0 if none is there.
func (p *parser) take(bytes string) byte {
	if p.rest == "" || !strings.Contains(bytes, p.rest[:1]) {
		return 0
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return b
}

func (p *parser) sum() (float64, bool) {
	x, ok := p.product()
	for ok {
		sign := p.take("+-")
		if sign == 0 {
			return x, true
		}
		var y float64
		if y, ok = p.product(); sign == '-' {
			y = -y
		}
		x += y
	}
	return 0, false
}

func (p *parser) product() (float64, bool) {
	x, ok := p.factor()
	for ok {
		sign := p.take("*/")
		if sign == 0 {
			return x, true
		}
		var y float64
		if y, ok = p.factor(); sign == '*' {
			x *= y
		} else {
			x /= y
		}
	}
	return 0, false
}

func (p *parser) factor() (float64, bool) {
	if sign := p.take("+-"); sign != 0 {
		x, ok := p.factor()
		if sign == '-' {
			x = -x
		}
		return x, ok
	}
	if p.take("(") != 0 {
		x, ok := p.sum()
		return x, ok && p.take(")") != 0
	}
	end := strings.IndexFunc(p.rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(p.rest)
	}
	x, err := strconv.ParseFloat(p.rest[:end], 64)
	p.rest = p.rest[end:]
	return x, err == nil
}
