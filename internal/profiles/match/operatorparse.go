package match

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// conditions reads "when". A conditionReader reads conditions from a configuration file.
type conditionReader struct{ *settings.Reader }

// test reads a condition object. The result is nil if no part of it is usable.
func (b conditionReader) test(n strictjson.Value, what string) *test {
	if n.Kind() != strictjson.Object {
		b.Wrong(n, fmt.Sprintf(`write {"eq": %s}`, Shortened(n.Compact())), "a condition must be an object, this is %s",
			n.Kind())
		return nil
	}
	x := &test{}
	missing := false
	fields := []settings.Field{settings.Key("ifMissing", func(n strictjson.Value) {
		missing = true
		word, ok := b.Word(n, `"ifMissing"`, "unknown", "match", "noMatch")
		x.decided = ok
		x.ifMissing = map[string]Result{"match": Yes, "noMatch": No}[word]
		if word == "unknown" {
			x.ifMissing = Unknown
		}
	})}
	fields = append(fields, b.operators(x)...)
	before := len(b.Problems)
	b.Object(n, "a condition", fields)
	if len(b.Problems) == before && len(x.operators) == 0 {
		hint := `say what the argument must be, for example {"eq": "value"}`
		if missing {
			hint = `"ifMissing" says what holds without a value: say what the value must be, or {"exists": true}`
		}
		b.Wrong(n, hint, "the condition on %q is empty", what)
	}
	return x
}

// operators returns the fields of a condition object that add an operator to the test.
func (b conditionReader) operators(x *test) []settings.Field {
	add := func(name string, parse func(n strictjson.Value, what string) operator) settings.Field {
		return settings.Key(name, func(n strictjson.Value) {
			if op := parse(n, fmt.Sprintf("%q", name)); op != nil {
				x.operators = append(x.operators, op)
			}
		})
	}
	return []settings.Field{
		add("eq", b.equal), add("in", b.in),
		add("prefix", b.affix(strings.HasPrefix)), add("suffix", b.affix(strings.HasSuffix)),
		add("glob", b.textGlob), add("regex", b.regex), add("under", b.under), add("host", b.host),
		add("lt", b.comparison(func(order int) bool { return order < 0 })),
		add("lte", b.comparison(func(order int) bool { return order <= 0 })),
		add("gt", b.comparison(func(order int) bool { return order > 0 })),
		add("gte", b.comparison(func(order int) bool { return order >= 0 })),
		add("maxLength", b.length(strictjson.String)), add("maxItems", b.length(strictjson.Array)),
		add("type", b.typeOperator), add("exists", b.exists),
		add("not", b.not), add("any", b.any),
	}
}

func (b conditionReader) constant(n strictjson.Value) constant {
	b.UniqueBelow(n)
	if n.Kind() == strictjson.Number {
		if _, ok := parseDecimal(n.Text()); !ok {
			b.Wrong(n, "write it without such an exponent", "the number is too large or too small to compare")
		}
	}
	return constant{node: n, folded: Fold(n.Text())}
}

func (b conditionReader) equal(n strictjson.Value, what string) operator {
	return equalOperator{constants: []constant{b.constant(n)}}
}

func (b conditionReader) in(n strictjson.Value, what string) operator {
	var o equalOperator
	for child := range b.Elements(n, what, false) {
		o.constants = append(o.constants, b.constant(child))
	}
	if len(o.constants) == 0 {
		return nil
	}
	return o
}

func (b conditionReader) affix(holds func(s, part string) bool) func(strictjson.Value, string) operator {
	return func(n strictjson.Value, what string) operator {
		s, ok := b.Text(n, what)
		if !ok {
			return nil
		}
		return textOperator{want: s, folded: Fold(s), holds: holds}
	}
}

func (b conditionReader) textGlob(n strictjson.Value, what string) operator {
	if _, ok := b.Text(n, what); !ok {
		return nil
	}
	g := ReadPattern(b.Reader, n, ParseText)
	if g == nil {
		return nil
	}
	return globOperator{glob: g}
}

// maxRegex bounds the compiled regular expressions of one rule.
const maxRegex = 1000

func (b conditionReader) regex(n strictjson.Value, what string) operator {
	s, ok := b.Text(n, what)
	if !ok {
		return nil
	}
	if len(s) > maxRegex {
		b.Wrong(n, "split it with \"any\"", "the regular expression is longer than %d bytes", maxRegex)
		return nil
	}
	// Compile it alone first: "a)|(b" would otherwise break out of the anchors.
	if _, err := regexp.Compile(s); err != nil {
		hint := "the grammar is that of RE2, as in Go's package regexp"
		if strings.Contains(s, "(?=") || strings.Contains(s, "(?!") || strings.Contains(s, "(?<") {
			hint = "RE2 has no lookaround: use \"not\", or several conditions"
		}
		b.Wrong(n, hint, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	}
	return regexOperator{
		exact:   regexp.MustCompile(`\A(?:` + s + `)\z`),
		anyLine: regexp.MustCompile(`\A(?s:` + s + `)\z`),
		anyCase: regexp.MustCompile(`\A(?is:` + s + `)\z`),
	}
}

func (b conditionReader) under(n strictjson.Value, what string) operator {
	var o underOperator
	b.OneOrMore(n, what, func(n strictjson.Value, s string) {
		cleaned := cleanPath(strings.ReplaceAll(s, `\`, "/"))
		switch {
		case strings.ContainsAny(s, "*?"):
			b.Wrong(n, `everything in a folder is under it: write the folder alone, or use "glob"`,
				"%s takes folders, not patterns", what)
		case s[0] == '~' || strings.Contains(s, "://") || strings.ContainsRune(s, 0):
			b.Wrong(n, "write the folder in full, as the upstream sees it", "%q is not a plain path", s)
		case cleaned == ".." || strings.HasPrefix(cleaned, "../"):
			b.Wrong(n, "write the folder in full, as the upstream sees it", "%q leads out of the folder it starts from", s)
		}
		o.folders = append(o.folders, newFolder(cleaned))
	})
	if len(o.folders) == 0 {
		return nil
	}
	return o
}

func (b conditionReader) host(n strictjson.Value, what string) operator {
	var o hostOperator
	b.OneOrMore(n, what, func(n strictjson.Value, s string) {
		scheme, host, named := strings.Cut(strings.TrimSuffix(strings.ToLower(s), "."), "://")
		if !named {
			scheme, host = "", scheme
		}
		if address, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
			o.hosts = append(o.hosts, wantedHost{scheme, address.WithZone("").Unmap().String()})
			return
		}
		name := strings.TrimPrefix(host, "*.")
		switch {
		case strings.Contains(host, "/") || slices.Contains(web, scheme):
			b.Wrong(n, "write the host alone: \"example.com\"", "%q is a URL or a path, not a host", s)
		case named && (!isScheme(scheme) || opaque[scheme]):
			b.Wrong(n, "write a scheme as in \"ssh://example.com\"", "%q has a scheme without hosts", s)
		case strings.Contains(host, ":"):
			b.Wrong(n, "leave the port out: any port of the host counts", "%q is not a host alone", s)
		case strings.Contains(name, "*"):
			b.Wrong(n, "write *.example.com, or use \"regex\"", "%q: * can only stand for everything before the domain", s)
		case !IsASCII(host):
			b.Wrong(n, "write it in its ASCII form, which begins with xn--", "%q is not plain ASCII", s)
		case !isHostName(name) || isNumericHost(name):
			b.Wrong(n, "write \"example.com\", \"*.example.com\" or an address", "%q is not a host", s)
		}
		o.hosts = append(o.hosts, wantedHost{scheme, host})
	})
	if len(o.hosts) == 0 {
		return nil
	}
	return o
}

// isScheme reports whether s is the scheme of a URL (RFC 3986, section 3.1), in lower case.
func isScheme(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && !strings.ContainsRune("+-.", r)
	})
}

func (b conditionReader) comparison(holds func(int) bool) func(strictjson.Value, string) operator {
	return func(n strictjson.Value, what string) operator {
		if n.Kind() != strictjson.Number && n.Kind() != strictjson.String {
			b.Wrong(n, `write it as text: "10000.00"`, "%s must be a number, this is %s", what, n.Kind())
			return nil
		}
		d, ok := parseDecimal(n.Text())
		if !ok {
			b.Wrong(n, `write digits and a point: "10000.00"`, "%s must be a decimal number", what)
			return nil
		}
		return comparison{bound: d, holds: holds}
	}
}

func (b conditionReader) length(k strictjson.Kind) func(strictjson.Value, string) operator {
	return func(n strictjson.Value, what string) operator {
		return lengthOperator{kind: k, most: b.Whole(n, what, 0)}
	}
}

func (b conditionReader) typeOperator(n strictjson.Value, what string) operator {
	if n.Kind() == strictjson.Array {
		return typeOperator{names: b.Words(n, what, typeNames...)}
	}
	name, ok := b.Word(n, what, typeNames...)
	if !ok {
		return nil
	}
	return typeOperator{names: []string{name}}
}

func (b conditionReader) exists(n strictjson.Value, what string) operator {
	want, ok := b.Boolean(n, what)
	if !ok {
		return nil
	}
	return existsOperator{want}
}

func (b conditionReader) not(n strictjson.Value, what string) operator {
	if x := b.test(n, "not"); x != nil {
		return notOperator{x}
	}
	return nil
}

func (b conditionReader) any(n strictjson.Value, what string) operator {
	var o anyOperator
	for child := range b.Elements(n, what, false) {
		if x := b.test(child, "any"); x != nil {
			o.tests = append(o.tests, x)
		}
	}
	if len(o.tests) == 0 {
		return nil
	}
	return o
}
