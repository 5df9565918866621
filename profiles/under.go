package profiles

import (
	"net/url"
	"path"
	"strings"
)

// underOperator is "under": the value is a path to one of the folders or to something in
// one. It judges the text alone; where symbolic links lead is the upstream's to know.
type underOperator struct {
	valueOperator
	folders []folder
}

// A folder is a cleaned path.
type folder struct{ path, folded string }

func newFolder(p string) folder { return folder{p, fold(p)} }

// eval compares the value as an upstream may read it: as it stands, with backslashes as
// separators, and with percent escapes decoded. A deny rule holds if any reading leads
// into a folder, an allow rule only if all of them do.
func (o underOperator) eval(v value) outcome {
	if v.node.kind != kindString {
		return wrongKind(v.node, "a string")
	}
	all, any := outcome{result: yes}, outcome{result: no}
	for _, reading := range pathReadings(v.node.text) {
		one := o.contains(reading, v.wide)
		all, any = and(all, one), or(any, one)
	}
	switch {
	case v.wide || all.result == any.result:
		return any
	default: // the readings disagree
		return outcome{unknown, "can be read as different paths"}
	}
}

func pathReadings(s string) []string {
	if hasDrive(strings.ReplaceAll(s, `\`, "/")) { // only where backslashes separate
		s = strings.ReplaceAll(s, `\`, "/")
	}
	readings := []string{s}
	if strings.Contains(s, `\`) {
		readings = append(readings, strings.ReplaceAll(s, `\`, "/"))
	}
	if strings.Contains(s, "%") {
		for _, r := range readings {
			if decoded, err := url.PathUnescape(r); err == nil {
				readings = append(readings, decoded, strings.ReplaceAll(decoded, `\`, "/"))
			}
		}
	}
	return readings
}

func (o underOperator) contains(s string, wide bool) outcome {
	if strings.ContainsRune(s, 0) {
		return outcome{unknown, "is not a path: it contains NUL"}
	}
	absolute := isAbsolute(s)
	if !absolute && (s == "" || s[0] == '~' || strings.Contains(s, "://")) {
		return outcome{unknown, "is not a plain path"}
	}
	cleaned := cleanPath(s)
	comparable := false
	for _, f := range o.folders {
		if isAbsolute(f.path) != absolute {
			continue // where a relative path leads depends on the upstream's folder
		}
		comparable = true
		if within(cleaned, f.path) || wide && within(cleanPath(fold(s)), f.folded) {
			return outcome{result: yes}
		}
	}
	switch {
	case !comparable && absolute:
		return outcome{unknown, "is an absolute path, the folders are relative"}
	case !comparable:
		return outcome{unknown, "is a relative path, the folders are absolute"}
	case !absolute && (cleaned == ".." || strings.HasPrefix(cleaned, "../")):
		return outcome{unknown, "leads out of the folder it starts from"}
	}
	return outcome{result: no}
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
	return len(p) >= 3 && p[1] == ':' && p[2] == '/' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// cleanPath is path.Clean for which no ".." leads above a drive.
func cleanPath(p string) string {
	if hasDrive(p) {
		return p[:2] + path.Clean(p[2:])
	}
	return path.Clean(p)
}
