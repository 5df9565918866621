package match

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/strictjson"
	"golang.org/x/text/unicode/norm"
)

// underOperator is "under": the value is a path to one of the folders or to something in one. It evaluates only the
// text; only the upstream knows where symbolic links lead.
type underOperator struct {
	valueOperator
	folders []folder
}

// A folder is a cleaned path.
type folder struct{ path, folded string }

func newFolder(p string) folder { return folder{p, Fold(p)} }

// eval compares the value as upstreams may read it, see [pathReadings]. A deny rule holds if any reading leads
// into a folder, an allow rule only if all of them do and none is in doubt.
func (o underOperator) eval(v value) Outcome {
	if v.node.Kind() != strictjson.String {
		return wrongKind(v.node, "a string")
	}
	if len(v.node.Text()) > maxPath {
		return Outcome{Unknown, "is too long for a path"}
	}
	all, any := Outcome{Result: Yes}, Outcome{Result: No}
	note := func(one Outcome) { all, any = And(all, one), or(any, one) }
	readings, complete := pathReadings(v.node.Text())
	if !complete {
		note(Outcome{Unknown, "can be read as too many different paths"})
	}
	for _, reading := range readings {
		if why := doubt(reading); why != "" {
			note(Outcome{Unknown, why})
		}
		note(o.contains(reading, v.wide))
	}
	switch {
	case v.wide || all.Result == any.Result:
		return any
	case any.Result == Unknown: // no reading leads into a folder, and one cannot be judged
		return any
	default: // the readings disagree
		return Outcome{Unknown, "can be read as different paths"}
	}
}

// Limits of a path: no system accepts longer ones, and nobody writes nested escapes in one.
const (
	maxPath     = 32 << 10
	maxReadings = 48
)

// pathReadings returns the value itself and the ways in which others may read it: with backslashes as separators; with
// percent escapes decoded repeatedly; without the characters that Windows drops at the end of a name; without the
// parameters, the query and the fragment of a URL; with lookalikes of dots and separators replaced by these. complete
// is false if there are too many readings to evaluate.
func pathReadings(s string) (readings []string, complete bool) {
	if slashed := strings.ReplaceAll(s, `\`, "/"); hasDrive(slashed) { // only where backslashes separate
		s = slashed
	}
	readings = []string{s}
	if isPlainPath(s) {
		return readings, true
	}
	known := map[string]bool{s: true}
	for i := 0; i < len(readings); i++ {
		for _, read := range pathReaders {
			other := read(readings[i])
			if known[other] {
				continue
			}
			if len(readings) == maxReadings {
				return readings, false
			}
			known[other] = true
			readings = append(readings, other)
		}
	}
	return readings, true
}

// isPlainPath reports whether all readers read the path literally.
func isPlainPath(s string) bool {
	if strings.HasPrefix(s, "/") && hasDrive(s[1:]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`\%;?#+`, c) >= 0 {
			return false
		}
		if s[i] == '.' && (i+1 == len(s) || s[i+1] == '/') {
			return false
		}
	}
	return true
}

var pathReaders = []func(string) string{
	unescaped,
	func(s string) string { return strings.ReplaceAll(s, `\`, "/") },
	strings.TrimSpace,
	asWindows,
	withoutParameters,
	func(s string) string { return before(s, "?#") },
	func(s string) string { return strings.ReplaceAll(s, "+", " ") },
	norm.NFKC.String,
	separators.Replace,
	withoutInvisible,
	withoutDevice,
}

func before(s, any string) string {
	if i := strings.IndexAny(s, any); i >= 0 {
		return s[:i]
	}
	return s
}

// unescaped decodes valid escapes, %41 and %u0041, and keeps invalid ones.
func unescaped(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == '%' && i+6 <= len(s) && s[i+1]|0x20 == 'u' {
			if n, err := strconv.ParseUint(s[i+2:i+6], 16, 16); err == nil {
				b.WriteRune(rune(n))
				i += 6
				continue
			}
		}
		if s[i] == '%' && i+3 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// asWindows removes the dots and spaces at the end of names, as Windows does, also those of "..".
func asWindows(s string) string {
	if !strings.Contains(s, ".") && !strings.Contains(s, " ") {
		return s
	}
	names := strings.Split(s, "/")
	for i, name := range names {
		switch trimmed := strings.TrimRight(name, ". "); {
		case trimmed != "":
			names[i] = trimmed
		case strings.TrimRight(name, " ") == "..":
			names[i] = ".."
		case strings.TrimRight(name, " ") == ".":
			names[i] = "."
		}
	}
	return strings.Join(names, "/")
}

// withoutParameters removes the text after a semicolon in a name, as Java servers do.
func withoutParameters(s string) string {
	if !strings.Contains(s, ";") {
		return s
	}
	names := strings.Split(s, "/")
	for i, name := range names {
		names[i] = before(name, ";")
	}
	return strings.Join(names, "/")
}

// separators are characters that become separators when a reader converts text to a smaller character set.
var separators = strings.NewReplacer("∕", "/", "⁄", "/", "⧸", "/", "╱", "/", "∖", `\`, "⧵", `\`, "¥", `\`, "₩", `\`,
	"．", ".", "。", ".")

// withoutInvisible removes characters that some file systems ignore when they compare names.
func withoutInvisible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector) || r == 0x34f {
			return -1
		}
		return r
	}, s)
}

// withoutDevice turns \\?\C:\x and /C:/x into C:/x.
func withoutDevice(s string) string {
	if len(s) > 4 && (s[:4] == "//?/" || s[:4] == "//./") {
		return s[4:]
	}
	if hasDrive(strings.TrimPrefix(s, "/")) {
		return strings.TrimPrefix(s, "/")
	}
	return s
}

var (
	schemed = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`) // file:/etc
	// $HOME, ${X}, %APPDATA%
	variable = regexp.MustCompile(`(?:^|/)\$[A-Za-z_]|\$[{(]|` + "`" + `|%[A-Za-z_][A-Za-z0-9_()]*%`)
	escape   = regexp.MustCompile(`%[0-9A-Fa-f]{2}%`)
	manyDots = regexp.MustCompile(`(?:^|/)[. ]*(?:\.\.\.| )[. ]*(?:/|$)`) // the rest of such a name differs
	braces   = regexp.MustCompile(`\{[^{}]*(?:,|\.\.)[^{}]*\}`)
	// names on Linux that lead to another place: /proc/self/root is the root
	links     = regexp.MustCompile(`^/(?:proc/(?:.*/)?(?:root|cwd|fd|map_files)|dev/fd)(?:/|$)`)
	shortName = regexp.MustCompile(`(?:^|/)[^/.~]{1,6}~[0-9]+(?:\.[^/.]{0,3})?(?:/|$)`) // PROGRA~1
)

// doubt says why a reading may mean another path than it seems, "" if it does not.
func doubt(s string) string {
	switch {
	case s == "":
		return "is empty"
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }):
		return "is not a path: it contains NUL, control characters or bytes that are no text"
	case s[0] == '~' || schemed.MatchString(s) || strings.Contains(s, "://"):
		return "is not a plain path"
	case strings.HasPrefix(s, "//"):
		return "may name another computer or a device"
	case len(s) > 1 && (s[1] == ':' || s[1] == '|') && isLetter(s[0]) && !hasDrive(s):
		return "starts from the current folder of a drive"
	case variable.MatchString(escape.ReplaceAllString(s, "")) || braces.MatchString(s):
		return "may be expanded before it is a path"
	case manyDots.MatchString(s):
		return "has a name of dots or spaces only"
	case links.MatchString(cleanPath(s)):
		return "leads through a link of the system to another place"
	case hasDrive(s) && shortName.MatchString(s):
		return "may be a short name for another one"
	}
	return ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (o underOperator) contains(s string, wide bool) Outcome {
	absolute := isAbsolute(s)
	if s == "" || strings.ContainsRune(s, 0) || !absolute && (s[0] == '~' || strings.Contains(s, "://")) {
		return Outcome{Unknown, "is not a plain path"}
	}
	cleaned := cleanPath(s)
	comparable := false
	for _, f := range o.folders {
		if isAbsolute(f.path) != absolute {
			continue // the target of a relative path depends on the upstream's folder
		}
		comparable = true
		if within(cleaned, f.path) || wide && within(cleanPath(Fold(s)), f.folded) {
			return Outcome{Result: Yes}
		}
	}
	switch {
	case !comparable && absolute:
		return Outcome{Unknown, "is an absolute path, the folders are relative"}
	case !comparable:
		return Outcome{Unknown, "is a relative path, the folders are absolute"}
	case !absolute && (cleaned == ".." || strings.HasPrefix(cleaned, "../")):
		return Outcome{Unknown, "leads out of the folder it starts from"}
	}
	return Outcome{Result: No}
}

// within compares two cleaned paths.
func within(p, folder string) bool {
	switch {
	case folder == "." || folder == "/":
		return p != ".." && !strings.HasPrefix(p, "../")
	case !strings.HasPrefix(p, folder):
		return false
	default:
		return len(p) == len(folder) || p[len(folder)] == '/' || folder[len(folder)-1] == '/'
	}
}

func isAbsolute(p string) bool { return strings.HasPrefix(p, "/") || hasDrive(p) }

// hasDrive recognises "C:/x".
func hasDrive(p string) bool {
	return len(p) >= 3 && p[1] == ':' && p[2] == '/' && isLetter(p[0])
}

// cleanPath is path.Clean, except that no ".." leads above a drive.
func cleanPath(p string) string {
	if hasDrive(p) {
		return p[:2] + path.Clean(p[2:])
	}
	return path.Clean(p)
}
