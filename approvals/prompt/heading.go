package prompt

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"unicode"
)

// Heading names the tool in a form that only the person's own configuration can influence: the canonical name, with a
// dot between server and tool.
func Heading(r *Request) string {
	name := r.Name
	switch {
	case name == "" && r.Server+r.Tool == "":
		return "unnamed"
	case name == "":
		name = r.Server + "__" + r.Tool
	}
	if server, tool, ok := strings.Cut(name, "__"); ok {
		name = server + "." + tool
	}
	short, _ := shorten(name)
	return short
}

// LogValue keeps the arguments out of logs.
func (r *Request) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("run", r.Run), slog.Int("call", r.Call), slog.String("tool", Heading(r)),
		slog.String("profile", r.Profile), slog.String("risk", string(r.Risk)), slog.String("rule", r.Rule),
		slog.String("code", r.Code), slog.Int("argument_bytes", len(r.Args)))
}

// shorten escapes a name, and cuts it in the middle when it is too long to be one.
func shorten(name string) (string, bool) {
	us := slices.Collect(units(characters(name), bare, true))
	all, hidden := 0, 0
	for _, u := range us {
		all, hidden = all+u.width(), hidden+u.n
	}
	if all <= maxName {
		return join(us), false
	}
	from, to := 0, len(us)
	for w := us[from].width(); w <= maxName/2; w += us[from].width() {
		hidden -= us[from].n
		from++
	}
	for w := us[to-1].width(); w <= maxName/4; w += us[to-1].width() {
		to--
		hidden -= us[to].n
	}
	us[to].raw = us[to].raw && !unicode.Is(unicode.M, us[to].r) // it would sit on the space
	return fmt.Sprintf("%s (%s hidden) %s", join(us[:from]), counted(hidden, "character", "characters"),
		join(us[to:])), true
}

func join(us []unit) string {
	var b strings.Builder
	for _, u := range us {
		b.WriteString(u.text())
	}
	return b.String()
}

// shortDigest is the part of a digest that people compare.
func shortDigest(digest string) string {
	short, _ := shorten(strings.TrimPrefix(digest, "sha256:"))
	return short[:min(len(short), 12)]
}
