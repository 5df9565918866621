package policy

import (
	"fmt"
	slash "path"
	"slices"
	"strings"
)

// up leaves a folder of rules.
const up = "../../../../../"

// climbs are paths that begin as an allow rule wants and end elsewhere.
func climbs(of operators) (all []disguise) {
	for _, fill := range []string{up + "etc/passwd", "/" + up + "etc/passwd", "x/" + up + "etc/passwd",
		`..\..\..\..\..\windows\win.ini`, `\..\..\..\..\..\windows\win.ini`} {
		for _, text := range of.texts(fill) {
			at := strings.Index(text, fill)
			if at < 0 || fill[0] == '.' && at > 0 && !strings.Contains(`/\`, text[at-1:at]) || // /data.. is a name
				strings.Contains(fill, `\`) && !isWindows(text[:at]) {
				continue
			}
			plain := slash.Clean(strings.ReplaceAll(text, `\`, "/"))
			all = append(all, disguise{plain, text, fmt.Sprintf("%q is %q", text, plain)})
		}
	}
	return slices.DeleteFunc(all, func(d disguise) bool { return d.plain == d.disguised })
}

func isWindows(text string) bool {
	return strings.Contains(text, `\`) || len(text) > 1 && text[1] == ':'
}

// spellings are other ways to write a path that a deny or ask rule is about.
func spellings(of operators) (all []disguise) {
	for _, plain := range append(of.texts("/x"), of.texts("x")...) {
		if plain == "" || isWindows(plain) || strings.Contains(plain, "//") {
			continue
		}
		add := func(text string) {
			if text != plain {
				all = append(all, disguise{plain, text, fmt.Sprintf("%q is %q", text, plain)})
			}
		}
		at := strings.LastIndexByte(plain, '/') // before the last name
		head, tail := plain[:at+1], plain[at+1:]
		add(head + "/" + tail)
		add(head + "./" + tail)
		add(head + "x/../" + tail)
		if !slash.IsAbs(plain) {
			add("./" + plain)
			continue
		}
		add("/." + plain)
		add("/tmp/.." + plain)
		add(up + up + plain[1:]) // from wherever the server is
		add("/proc/self/root" + plain)
		for _, home := range []string{"/home/", "/Users/"} {
			if rest, ok := strings.CutPrefix(plain, home); ok {
				if _, rest, ok := strings.Cut(rest, "/"); ok {
					add("~/" + rest)
				}
			}
		}
	}
	return all
}

func mendPath(of operators, allow bool) string {
	switch {
	case allow:
		return `compare folders and not texts: write "under" with the folder, in place of the other operator`
	case of.has("under"):
		return `a folder has more names than a rule can list: allow the folders that programs may use ("under" in an allow ` +
			`rule), and deny the rest with "unmatched"`
	}
	return `compare folders and not texts: write "under" with the folder; better, allow only the folders that programs ` +
		`may use`
}
