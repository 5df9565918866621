package openapi

import (
	pathpkg "path"
	"regexp"
	"slices"
	"strings"
)

// A judged is what is known of an operation to judge it by.
type judged struct {
	method  string
	id      []string // the words of the last part of its id, or of the action that the path names
	segment []string // the words of the last literal segment of its path
	summary []string // the words of the beginning of its summary
}

// effectOf judges what an operation does, and says by what. The method decides for most; names correct it. Where only
// the words of the summary make it a read, the reason says so: whoever wrote them could say anything.
func effectOf(method, path, id, summary string) (effect, why string) {
	j := judge(method, path, id, summary)
	switch j.method {
	case "get", "head", "options", "trace":
		if by := j.acts(); by != "" {
			return j.kind(), j.kind() + by
		}
		return Reads, Reads + byMethod
	case "delete":
		return Destroys, Destroys + byMethod
	case "post", "put":
		if by := j.reads(); by != "" {
			return Reads, Reads + by
		}
	}
	if kind := j.kind(); kind != Writes {
		return kind, kind + byName
	}
	return Writes, Writes + byMethod
}

const (
	byMethod  = ", by its method"
	byName    = ", by its name"
	bySummary = ", by its summary"
)

var (
	action    = regexp.MustCompile(`(?:Action|X-Amz-Target)=([\w.]+)`)
	generated = regexp.MustCompile(`Using(GET|POST|PUT|DELETE|PATCH)(_\d+)?$`)
	upperVerb = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE|HEAD)[_\-A-Z]`)
	lowerVerb = regexp.MustCompile(`^(post|put|patch)[A-Z_-]`)
	tag       = regexp.MustCompile(`<[^>]+>`)
)

// The effects of operations. None but Reads says that an operation changes nothing.
const (
	Reads    = "reads"
	Writes   = "writes"
	Destroys = "destroys"
	Sends    = "sends" // to others, or it costs: no rule may be laxer because of it
)

func judge(method, path, id, summary string) judged {
	j := judged{method: strings.ToLower(method)}
	j.summary = wordsOf(tag.ReplaceAllString(cut(summary, summaryMax), ""))
	if m := action.FindStringSubmatch(path); m != nil {
		j.id = wordsOf(m[1][strings.LastIndexByte(m[1], '.')+1:])
		return j
	}
	id = generated.ReplaceAllString(id, "")
	if m := upperVerb.FindStringSubmatch(id); m != nil {
		id = id[len(m[1]):]
	} else if m := lowerVerb.FindStringSubmatch(id); m != nil && m[1] == j.method {
		id = id[len(m[1]):]
	}
	j.id = wordsOf(lastPart(id))
	path, _, _ = strings.Cut(path, "#")
	last := strings.TrimRight(path, "/")
	last = last[strings.LastIndexByte(last, '/')+1:]
	last, _, _ = strings.Cut(last, "?")
	switch colon := strings.LastIndexByte(last, ':'); {
	case colon >= 0:
		last = last[colon+1:]
	case strings.HasPrefix(last, "{"):
		last = ""
	default:
		switch format := strings.TrimPrefix(pathpkg.Ext(last), "."); format {
		case "json", "xml", "csv":
			last = strings.TrimSuffix(last, "."+format)
		default: // microsoft.graph.sendMail
			last = last[strings.LastIndexByte(last, '.')+1:]
		}
	}
	j.segment = wordsOf(last)
	for len(j.id) > 1 && slices.Contains([]string{"batch", "bulk", "multi", "mass"}, j.id[0]) {
		j.id = j.id[1:]
	}
	for len(j.segment) > 1 && slices.Contains([]string{"batch", "bulk", "multi"}, j.segment[0]) {
		j.segment = j.segment[1:]
	}
	return j
}

// lastPart is what follows the last separator of an id: a dot, a slash, or "_" between a lower and an upper case.
func lastPart(id string) string {
	last := ""
	for _, p := range strings.FieldsFunc(id, func(r rune) bool { return r == '.' || r == '/' || r == '#' }) {
		start := 0
		for i := 1; i+1 < len(p); i++ {
			if p[i] == '_' && p[i-1] >= 'a' && p[i-1] <= 'z' && p[i+1] >= 'A' && p[i+1] <= 'Z' {
				start = i + 1
			}
		}
		if p[start:] != "" {
			last = p[start:]
		}
	}
	return last
}

// wordsOf splits a name into lower-case words, of ASCII letters and digits.
func wordsOf(name string) []string {
	var all []string
	start := -1
	flush := func(end int) {
		if start >= 0 {
			all = append(all, strings.ToLower(name[start:end]))
		}
		start = -1
	}
	isUpper := func(i int) bool { return i < len(name) && name[i] >= 'A' && name[i] <= 'Z' }
	isLower := func(i int) bool { return i < len(name) && name[i] >= 'a' && name[i] <= 'z' }
	isDigit := func(i int) bool { return name[i] >= '0' && name[i] <= '9' }
	for i := range len(name) {
		switch {
		case !isUpper(i) && !isLower(i) && !isDigit(i):
			flush(i)
			continue
		case start >= 0 && isUpper(i) && (!isUpper(i-1) || isLower(i+1)):
			flush(i)
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(name))
	return all
}

func (j *judged) verb() string {
	if len(j.id) > 0 {
		return j.id[0]
	}
	return ""
}

func (j *judged) place() string {
	if len(j.segment) > 0 {
		return j.segment[0]
	}
	return ""
}

// says reports whether the summary begins with one of the words, also in the third person.
func (j *judged) says(words func(string) bool) bool {
	return len(j.summary) > 0 && isForm(j.summary[0], words)
}

// isForm reports whether a word is one of the words, or a form of one.
func isForm(w string, words func(string) bool) bool {
	if words(w) {
		return true
	}
	bare := w
	if strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		bare = w[:len(w)-1]
	}
	return words(bare) || strings.HasSuffix(bare, "e") && words(strings.TrimSuffix(bare, "e"))
}

// acts reports by what a GET does something; "" if it only reads.
func (j *judged) acts() string {
	verb := j.verb()
	acting := func(w string) bool { return isWriting(w) && !mayRead(w) }
	does := acting(verb) || verb == "" && acting(j.place()) || len(j.segment) == 1 && isCommand(j.place()) ||
		len(j.id) > 1 && verb != "get" && !slices.Contains(j.id, "list") && acting(verb)
	if !does || j.says(isReading) {
		return ""
	}
	return byName
}

// reads reports by what a POST or a PUT only reads; "" if it may do something. No writing word may be in its id, or
// begin its path's end or its summary.
func (j *judged) reads() string {
	writing := func(w string) bool { return isWriting(w) && !mayMean(w) }
	anywhere := slices.ContainsFunc(j.id, writing)
	if anywhere || writing(j.place()) ||
		j.says(func(w string) bool { return writing(w) && w != "generate" && w != "post" }) {
		return ""
	}
	last := ""
	if len(j.id) > 0 {
		last = j.id[len(j.id)-1]
	}
	verb := isReading(j.verb()) && !isOfOthers(j.verb()) && !(len(j.id) > 1 && (j.id[1] == "in" || j.id[1] == "out"))
	named := verb || isQuestion(j.place()) && len(j.segment) <= 3 || isQuestion(last) && last != "list"
	running := slices.Contains([]string{"test", "download", "scan", "run"}, j.verb())
	claims := j.says(isReading) && !slices.ContainsFunc(j.summary, func(w string) bool { return isForm(w, isDoing) })
	switch {
	case named && !running && j.method == "post":
		return byName
	case !claims, running && !j.says(isFinding):
	case named:
		return bySummary
	case j.method == "post" && !isGiven(last) && !isGiven(j.place()) &&
		j.says(func(w string) bool { return !isLoose(w) }) && !(j.collects() && !j.says(isFinding)):
		return bySummary
	}
	return ""
}

// collects reports whether the path ends in a collection, in which a POST creates something as a rule.
func (j *judged) collects() bool {
	if len(j.segment) == 0 {
		return false
	}
	last := j.segment[len(j.segment)-1]
	return strings.HasSuffix(last, "s") && !strings.HasSuffix(last, "ss") && !strings.HasSuffix(last, "is")
}

// kind is the effect of an operation that does something.
func (j *judged) kind() string {
	verb, place := j.verb(), j.place()
	last := ""
	if len(j.id) > 0 {
		last = j.id[len(j.id)-1]
	}
	switch {
	case isDestroying(verb), isDestroying(place), verb == "" && j.says(isDestroying):
		return Destroys
	case isSending(verb), isSending(place), j.says(func(w string) bool { return isSending(w) && w != "order" }),
		slices.Contains([]string{"send", "refund", "refunds", "payout", "payouts", "sms"}, last):
		return Sends
	}
	return Writes
}
