package discovery

import (
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
func calculate(in expression) string {
	p := parser{rest: strings.ReplaceAll(in.Expression, " ", "")}
	x := p.sum()
	if p.rest != "" || math.IsInf(x, 0) || math.IsNaN(x) {
		refuse("invalid expression")
	}
	text := strconv.FormatFloat(cents(x), 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// cents rounds to two digits after the point.
func cents(x float64) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'f', 2, 64), 64)
	return x
}

// A parser reads an expression from its beginning. What is no expression is no number.
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

func (p *parser) sum() float64     { return p.row("+-", p.product) }
func (p *parser) product() float64 { return p.row("*/", p.factor) }

// row reads operands with operators between them.
func (p *parser) row(operators string, operand func() float64) float64 {
	for x := operand(); ; {
		switch p.take(operators) {
		case '+':
			x += operand()
		case '-':
			x -= operand()
		case '*':
			x *= operand()
		case '/':
			x /= operand()
		default:
			return x
		}
	}
}

func (p *parser) factor() float64 {
	switch p.take("+-(") {
	case '+':
		return p.factor()
	case '-':
		return -p.factor()
	case '(':
		if x := p.sum(); p.take(")") != 0 {
			return x
		}
		return math.NaN()
	}
	digits := len(p.rest) - len(strings.TrimLeft(p.rest, ".0123456789"))
	x, err := strconv.ParseFloat(p.rest[:digits], 64)
	p.rest = p.rest[digits:]
	if err != nil {
		return math.NaN()
	}
	return x
}
