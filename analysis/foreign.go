package analysis

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A kind of text that models send in place of a program.
type foreign struct {
	what string
	sign func() *regexp.Regexp
	hint string // "" is the one-line form
}

const (
	isJSX       = "there is no JSX"
	brokenJSON  = "this is JSON that is broken off or invalid, and no program"
	afterChange = "send the whole program as it is after the change"
	isLanguage  = "this is %s; a program is JavaScript or TypeScript"
)

// foreigners are tried in this order, on texts that are no JavaScript. Their signs are such that no JavaScript has them
// at the beginning of a line.
var foreigners = []foreign{
	{"this is the transcript of a tool call, and no program", pattern(
		`(?s)^\s*(<(antml:)?(tool_call|function_calls?|invoke|tool_use|function)\b|<\|(python_tag|` +
			`tool_calls?|plugin)|\[TOOL_CALLS?\]|<｜tool)`), ""},
	{"this is a diff, and no program", pattern(
		`(?m)\A(diff --git |--- \S|Index: |@@ -\d|\*\*\* Begin Patch)`),
		afterChange},
	{fmt.Sprintf(isLanguage, "PHP"), pattern(`\A<\?php`), ""},
	{isJSX, pattern(`(?s)(return|=>|\(|=|\?|&&)\s*<[A-Za-z>][^;]*(</|/>)`), "return text or objects"},
	{"this is HTML or XML, and no program", pattern(`(?s)\A<[!?A-Za-z][^>]*>.*`), ""},
	{fmt.Sprintf(isLanguage, "Go"), pattern(
		`(?m)^package \w+\s*$|^\s*func (\(\w+ \*?\w+\) )?\w+\(|^\s*\w+(, \w+)* := `), ""},
	{fmt.Sprintf(isLanguage, "Rust"), pattern(
		`(?m)^\s*(pub )?(async )?fn \w+.*\{|^\s*let mut |println!\(|^use \w+(::\w+)+`), ""},
	{fmt.Sprintf(isLanguage, "C or C++"), pattern(`(?m)^#include\s*[<"]`), ""},
	{fmt.Sprintf(isLanguage, "C#"), pattern(
		`(?m)^using [\w.]+;|Console\.Write|static (async )?(void|Task\S*|int) Main\(`), ""},
	{fmt.Sprintf(isLanguage, "Java"), pattern(
		`(?m)^\s*(public|private|protected) (static |final |abstract )*(class|interface|void|int|` +
			`String|[A-Z]\w*)\b.*[{(]|System\.out\.|^import java`), ""},
	{fmt.Sprintf(isLanguage, "Kotlin"), pattern(`(?m)^\s*(suspend )?fun \w+\(|^\s*val \w+ = `), ""},
	{fmt.Sprintf(isLanguage, "Python"), pattern(
		`(?m)^\s*(async )?def \w+\(.*\).*:\s*(#.*)?$|^\s*class \w+.*:\s*$|^\s*(elif|except|for|if|` +
			`while|with|async with|async for|try|else|finally)\b[^{};]*:\s*(#.*)?$|^\s*from [\w.]+ import |` +
			`^\s*import \w+(\.\w+)*( as \w+)?(, ?\w+)*\s*$|^\s*print\(f?["'].*\)\s*$|^\s*\w+ = .*\bf["']|` +
			`\blambda \w*:|\[[^\n]* for \w+ in [^\n]*\]|^#!.*python`), ""},
	{fmt.Sprintf(isLanguage, "Ruby"), pattern(
		`(?m)^\s*puts |\bdo \|\w+(, ?\w+)*\|\s*$|^require ["']|^\s*def \w+[^:{]*$`), ""},
	{fmt.Sprintf(isLanguage, "SQL"), pattern(
		`(?is)\A\s*(select\s+[^;{}]*\sfrom\s|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|` +
			`create\s+(table|index|view)\s|drop\s+table\s|with\s+\w+\s+as\s*\()`),
		"tools query databases: search_tools(\"sql\") finds one, if there is one"},
	{fmt.Sprintf(isLanguage, "PowerShell"), pattern(
		`(?m)^\s*(Get|Set|New|Invoke|Write|Select|Remove|Import)-[A-Z]\w+|^\s*\$\w+ = (Get|Invoke|` +
			`New)-`), ""},
	{"this is shell; a program is JavaScript or TypeScript, and there is no shell", pattern(
		`(?m)\A(\$ |#!.*\b(ba|z|da|k)?sh\b|(curl|wget|ls|cat|cd|echo|grep|git|npm|npx|pip|python3?|` +
			`node|docker|kubectl|sudo|mkdir|rm|jq|find|sed|awk|ssh|aws|gh|psql|export \w+=|set -\w+)(\s+[^=(\s]|` +
			`\s*$))|^\s*(then|fi|done|esac)\s*$|\|\s*(jq|grep|awk|sed|xargs)\b`), ""},
	{"this is a diff, and no program", pattern(`(?m)^@@ -\d+.* @@`), afterChange},
}

var (
	aURL        = pattern(`\A[a-z][a-z0-9+.-]*://\S+\z`)
	aDataURI    = pattern(`\Adata:[\w.+-]+/[\w.+-]+[;,]\S*\z`)
	encoded     = pattern(`\A[A-Za-z0-9+/_-]{24,}={0,2}\z`)
	yaml        = pattern(`\A(---\s*)?(\s*(#.*|- .*|-|["']?[\w .-]+["']?:(\s.*)?|\s+\S.*)?\n)+\z`)
	aWord       = pattern(`[\pL\pN'’-]+`)
	quoted      = pattern("\"[^\"\n]*\"|`[^`\n]*`")
	codeSign    = pattern(`[;{}=]|\w\(|\bawait\b|\bconst\b|\breturn\b`)
	punctuation = pattern(`[;{}=]|\w\(`)
	startsAs    = pattern(`\A\s*(\{\s*["}]|\[\s*[{"\[\]])`)
	escaped     = pattern(`&(gt|lt|amp|quot|apos|nbsp|#\d+|#x[0-9a-fA-F]+);`)
	aCall       = pattern(`(?:codemode\.)?\b(\w+?__\w+|codemode\.\w+\.\w+)\(([^()\n]{0,200})\)`)
	aTool       = pattern(`\b[A-Za-z]\w*?__[A-Za-z][\w-]*`)
	keywords    = pattern(`\A\s*\w+\s*=[^=>]+(,\s*\w+\s*=[^=>]+)*\z`)
	// isReserved matches the words that begin a statement of JavaScript or TypeScript, and no sentence.
	isReserved = pattern(`^(import|export|function|async|await|class|interface|type|enum|namespace|declare|else|catch|finally|case|default|break|continue|new|delete|typeof|void|yield|debugger|using|abstract)$`)
	keyword    = pattern(`(\w+)\s*=\s*`)
)

// whatIs names a text that cannot be compiled; "" if nothing is known about it.
func whatIs(text string) (what, hint string) {
	if what, hint = opaque(text); what != "" {
		return what, hint
	}
	if startsAs().MatchString(text) {
		if json.Valid([]byte(text)) {
			return valueText(text)
		}
		if !codeSign().MatchString(quoted().ReplaceAllString(text, "")[1:]) || strings.Count(text, `":`) > 1 {
			return brokenJSON, oneLine(text)
		}
	}
	if escaped().MatchString(text) {
		return "the text is escaped for HTML: " +
				escaped().FindString(text) + " stands in it", "send the characters themselves: " +
				"> for &gt;, < for &lt;, & for &amp;"
	}
	if strings.Contains(text, `\n`) && !strings.Contains(strings.TrimSpace(text), "\n") {
		return `the line breaks are written as \n: the text was escaped twice`,
			"send real line breaks, or separate the statements with ;"
	}
	for _, f := range foreigners {
		if f.sign().MatchString(text) {
			if f.hint == "" {
				return f.what, oneLine(text)
			}
			return f.what, f.hint
		}
	}
	if strings.ContainsRune(text, 0) {
		return "there are NUL characters in it", "send the text in UTF-8"
	}
	if isProse(text) {
		return "this is prose, and no program", oneLine(text)
	}
	return "", ""
}

// opaque names a text in which nothing is code, although JavaScript may read it: an address is a label and a comment.
func opaque(text string) (what, hint string) {
	text = strings.TrimSpace(text)
	switch {
	case foreigners[0].sign().MatchString(text):
		return foreigners[0].what, oneLine(text)
	case aURL().MatchString(text):
		return "this is an address, and no program",
			`there is no network but through tools: codemode.search_tools("http") finds one that fetches, if there is one`
	case aDataURI().MatchString(text):
		return "this is a data: address, and no program", "send the text of the program itself"
	case encoded().MatchString(text):
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding,
			base64.RawURLEncoding} {
			if b, err := e.DecodeString(text); err == nil && isText(b) {
				return "this is text in base64, and no program", "send the text of the program itself"
			}
		}
	case !codeSign().MatchString(text) && strings.Contains(text, ":") && yaml().MatchString(text+"\n"):
		return "this is YAML, and no program", oneLine(text)
	}
	return "", ""
}

func isText(b []byte) bool {
	return utf8.Valid(b) && !slices.ContainsFunc([]rune(string(b)),
		func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) })
}

// isProse reports whether a text is sentences: words, and nothing that only code has.
func isProse(text string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	first = strings.TrimLeft(first, "#*->0123456789. ")
	words := aWord().FindAllString(first, -1)
	if len(words) == 0 || begins[words[0]] || isReserved().MatchString(words[0]) {
		return false
	}
	return len(words) > 2 && !punctuation().MatchString(quoted().ReplaceAllString(first, "")) || len(words) > 0 &&
		!codeSign().MatchString(text) &&
		len(aWord().FindAllString(text, -1)) > 1 && !strings.ContainsAny(text, "()[]<>|&\"`")
}

// valueText names a text that is only a value: JSON, a text in quotes, a number.
func valueText(text string) (what, hint string) {
	text = strings.TrimRight(strings.TrimSpace(text), "; \n")
	if text == "" {
		return "there is no program", oneLine("")
	}
	switch text[0] {
	case '{', '[', '(':
		if hint := planned(text); hint != "" {
			return "this is the JSON of a call, and no program", hint
		}
		return "this is JSON or a value written out, and no program",
			oneLine(text) + "; a constant needs return in front of it"
	case '"', '\'', '`':
		return "this is text in quotes, and no program",
			"send the program without quotes around it; a constant needs return in front of it"
	}
	return "this is a constant, and no program", oneLine("") + "; a constant needs return in front of it"
}

// planned writes the calls that a JSON text describes as a program; "" if it describes none.
func planned(text string) string {
	var list []map[string]json.RawMessage
	var one map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &list) != nil {
		if json.Unmarshal([]byte(text), &one) != nil {
			return ""
		}
		for _, key := range []string{"steps", "calls", "tool_calls", "plan", "actions"} {
			if json.Unmarshal(one[key], &list) == nil && len(list) > 0 {
				break
			}
		}
		if len(list) == 0 {
			list = append(list, one)
		}
	}
	var calls []string
	for _, step := range list {
		if c := plannedCall(step); c != "" && len(calls) < 3 {
			calls = append(calls, c)
		}
	}
	if len(calls) == 0 {
		return ""
	}
	calls[len(calls)-1] = "return " + calls[len(calls)-1]
	return "write the calls as a program: " + strings.Join(calls, "; ")
}

func plannedCall(step map[string]json.RawMessage) string {
	if inner := step["function"]; len(inner) > 0 && inner[0] == '{' {
		var f map[string]json.RawMessage
		if json.Unmarshal(inner, &f) == nil {
			step = f
		}
	}
	name := ""
	for _, key := range []string{"tool", "name", "tool_name", "toolName", "function", "action", "method"} {
		if json.Unmarshal(step[key], &name) == nil && name != "" {
			break
		}
	}
	if name == "" || strings.ContainsAny(name, " \n") {
		return ""
	}
	args, given := "", strings.Contains(name, "__")
	for _, key := range []string{"arguments", "args", "input", "parameters", "params", "action_input", "tool_input"} {
		if args = string(step[key]); args == "" {
			continue
		}
		var inside string
		if json.Unmarshal(step[key], &inside) == nil && json.Valid([]byte(inside)) {
			args = inside
		}
		given = true
		break
	}
	if !given { // it may be a record with a name
		return ""
	}
	if compact, err := compactJSON(args); err == nil && len(compact) <= 200 {
		return "await codemode." + name + "(" + compact + ")"
	}
	return "await codemode." + name + "({ ... })"
}

func compactJSON(text string) (string, error) {
	if text == "" {
		return "{}", nil
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return "", err
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// oneLine is a program of one line, with the tool that a text names.
func oneLine(text string) string {
	if m := aCall().FindStringSubmatch(text); m != nil {
		name, args := strings.TrimPrefix(m[1], "codemode."), strings.TrimSpace(m[2])
		switch {
		case keywords().MatchString(args): // of Python
			args = "{ " + keyword().ReplaceAllString(args, "$1: ") + " }"
		case args == "":
			args = "{}"
		case args[0] != '{' || args[len(args)-1] != '}':
			args = "{ ... }"
		}
		return fmt.Sprintf("for example: return await codemode.%s(%s)", name, readable(args))
	}
	name := aTool().FindString(text)
	if name == "" || strings.HasPrefix(name, "__") {
		name = "<server>__<tool>"
	}
	return fmt.Sprintf("for example: return await codemode.%s({ ... })", name)
}
