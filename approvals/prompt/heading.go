package prompt

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/codemode-project/codemode/internal/strictjson"
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

// Summary shows r in one line, for lists: the name of the tool and the flattened arguments.
func Summary(r *Request) string {
	p := &printer{limits: limits{text: summaryText, items: inlineItems, depth: 1}, masker: newMasker(r.Display, false),
		oneLine: true}
	if r.Kind() == "account" {
		return "connect the account of " + Words(r.Principal) + " at " + Words(r.Server)
	}
	if r.Inquiry != nil {
		p.limits.text = inquirySummary
		p.put("a program asks ")
		p.text(characters(r.Inquiry.Question), nil)
		return p.b.String()
	}
	if r.Ahead {
		p.put("plan of the program " + shortDigest(r.Definition) + ": " + (&Grant{Lines: r.Plan}).planned())
		return p.b.String()
	}
	p.put(Heading(r))
	v, err := parseArgs(r.Args)
	if err != nil || v.Kind() != strictjson.Object || v.Len() == 0 {
		p.arguments(r.Args, 0)
		return p.b.String()
	}
	p.put(" ")
	p.inline(p.flat(v), summaryLeaves, p.column+summaryWidth)
	return p.b.String()
}

// inquirySummary is how much of a program's question a summary shows, in characters.
const inquirySummary = 100

// Shown returns arguments in one line, safe to show and log: it masks secrets, cuts long texts, arrays and objects, and
// escapes the rest. Never log the raw arguments.
func Shown(args json.RawMessage, d Display) string {
	p := &printer{limits: limits{text: narrow(oneLineText, d.String), items: narrow(oneLineItems, d.Items),
		depth: narrow(oneLineDepth, d.Depth)}}
	p.masker, p.oneLine, p.width = newMasker(d, false), true, math.MaxInt32
	if len(args) == 0 {
		return "none"
	}
	v, err := parseArgs(args)
	if err != nil {
		return fmt.Sprintf("(not strict JSON, %d bytes)", len(args))
	}
	p.value(v, p.masker.Root(), 0, 0)
	return p.b.String()
}

// The limits of Shown, unless a Display sets lower ones.
const oneLineText, oneLineItems, oneLineDepth = 120, 12, 4
