package changes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// A Proposal is a suggested rule for a file. It takes effect only when a person removes the comment signs.
type Proposal struct {
	Profile string // which profile
	List    string // allowlist, asklist or denylist; "" = allowlist
	Tool    string // canonical name or pattern
	// Args are the only arguments to allow; nil proposes a rule for any arguments. The rule compares their values
	// exactly.
	Args json.RawMessage
	ID   string // of the rule; "" = none

	By   string // who proposes it, and Why: for readers of the file
	Why  string
	Time time.Time
}

// Propose returns the file with the proposal as a comment at the top of the list. Propose verifies that the result
// decides every call as before. The error is [Problems] if the file is broken, or the rule is.
//
// If the profile's own ask rules would override the allow rule, Propose also proposes a change of these. If the rule
// would have no effect for other reasons, or too much effect, the error says what is in the way.
func Propose(file string, data []byte, p Proposal) ([]byte, error) {
	made, err := p.in(file, data, func(text []byte) (*config.Config, error) { return config.Parse(file, text) })
	return made.text, err
}

// A placed is a proposal in its file.
type placed struct {
	text             []byte         // of the file
	before, accepted *config.Config // the current and the proposed configuration
}

// in places the proposal in a file. load reads the configuration with another text of the file.
func (p Proposal) in(file string, data []byte, load func([]byte) (*config.Config, error)) (made placed, err error) {
	if p.List == "" {
		p.List = profiles.Allowlist.String()
	}
	before, err := load(data)
	if err != nil {
		return made, err
	}
	if p.ID == "" && p.List == profiles.Allowlist.String() && p.wantsName(before) {
		p.ID = p.freeID(before)
	}
	rule, err := p.rule()
	if err != nil {
		return made, err
	}
	at, lines, err := p.place(string(data), rule)
	if err != nil {
		return made, err
	}
	text := string(data)
	note := ""
	if p.List == profiles.Allowlist.String() && before.Profile(p.Profile).UnmatchedWithout() {
		note = `With an allowlist, what no rule names is denied, unless "unmatched" says otherwise.`
	}
	rules := edit{at, at, "\n" + strings.Join(lines, "\n") + "\n"}
	accepted, err := load([]byte(edited(text, rules)))
	if err != nil {
		return made, fmt.Errorf("the proposed rule would not be a good one: %w", err)
	}
	comments := []edit{{at, at, p.comment(text[:at], lines, note)}}
	if p.List == profiles.Allowlist.String() {
		var more []edit
		if more, accepted, err = p.effective(file, text, accepted, rules, load); err != nil {
			return made, err
		}
		comments = append(comments, more...)
	}
	after := []byte(edited(text, comments...))
	if err := sameMeaning(before, after, load); err != nil {
		return made, err
	}
	return placed{after, before, accepted}, nil
}

// effective proves that the accepted proposal lets the call through. If ask rules of the file would override it,
// effective returns comments that propose to change them, and the configuration with these changes.
func (p *Proposal) effective(
	file, text string, accepted *config.Config, rules edit, load func([]byte) (*config.Config, error),
) ([]edit, *config.Config, error) {
	ok, decided := p.allows(accepted)
	if ok {
		return nil, accepted, nil
	}
	before, err := load([]byte(text))
	if err != nil {
		return nil, nil, err
	}
	softer, err := p.softened(file, text, before)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", p.noEffect(decided), err)
	}
	edits, comments := []edit{rules}, []edit(nil)
	for _, s := range softer {
		edits = append(edits, edit{s.start, s.end, s.rule})
		comments = append(comments, edit{s.start, s.start, p.instead(text[:s.start], s.rule)})
	}
	now, err := load([]byte(edited(text, edits...)))
	if err != nil {
		return nil, nil, fmt.Errorf("the proposed change of the asklist would not be a good one: %w", err)
	}
	if ok, decided := p.allows(now); !ok {
		return nil, nil, p.noEffect(decided)
	}
	return comments, now, nil
}

// instead words the proposal to rewrite an ask rule.
func (p *Proposal) instead(before, rule string) string {
	last := before[strings.LastIndexByte(before, '\n')+1:]
	indent := last[:len(last)-len(strings.TrimLeft(last, " \t"))] + "  "
	return fmt.Sprintf("\n%s// Proposed %s with a rule of the allowlist, which has no effect without this: take the // of the next line away,\n"+
		"%s// and remove the entry below it.\n%s// %s,\n%s", indent, p.Time.UTC().Format(time.DateOnly), indent, indent, rule,
		indent)
}

// An edit replaces a part of a file with a text.
type edit struct {
	start, end int
	text       string
}

func edited(text string, edits ...edit) string {
	edits = slices.Clone(edits)
	// from the end, so that earlier positions stay valid
	slices.SortFunc(edits, func(a, b edit) int { return b.start - a.start })
	for _, e := range edits {
		text = text[:e.start] + e.text + text[e.end:]
	}
	return text
}

// ProposeInFiles writes a proposal into the user's file atomically. It proves with all files that the proposal has an
// effect.
func ProposeInFiles(f config.Files, p Proposal) error {
	return p.write(f.User, func(text []byte) (*config.Config, error) { return f.LoadWith(f.User, text) })
}

func (p Proposal) write(path string, load func([]byte) (*config.Config, error)) error {
	named := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the link stays a link
	}
	data, err := config.ReadFile(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	made, err := p.in(named, data, load)
	if err != nil {
		return err
	}
	if again, err := config.ReadFile(path); err != nil || string(again) != string(data) {
		return fmt.Errorf("%s was changed meanwhile: nothing was written", path)
	}
	return replace.File(path, made.text, info.Mode().Perm())
}

// rule writes the rule on one line.
func (p *Proposal) rule() (string, error) {
	type condition struct {
		Eq  json.RawMessage `json:"eq,omitempty"`
		Any json.RawMessage `json:"any,omitempty"`
	}
	rule := struct {
		ID     string               `json:"id,omitempty"`
		Tool   string               `json:"tool"`
		When   map[string]condition `json:"when,omitempty"`
		Others string               `json:"others,omitempty"`
	}{ID: p.ID, Tool: p.Tool}
	if p.Args != nil {
		root, bad := settings.ParseCall(p.Args)
		if bad != nil || root.Kind() != strictjson.Object {
			return "", errors.New("the arguments of the proposal are no JSON object")
		}
		rule.When = map[string]condition{}
		for child := range settings.Children(root) {
			pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(child.Key())
			if child.Kind() == strictjson.Null { // treated as absent
				rule.When[pointer] = condition{Any: json.RawMessage(`[{"exists":false},{"type":"null"}]`)}
				continue
			}
			rule.When[pointer] = condition{Eq: settings.Source(child)}
		}
		if p.List == profiles.Allowlist.String() {
			rule.Others = "none"
		}
	}
	raw, err := json.Marshal(rule)
	// A program supplies the arguments: a person who reads the rule must see all of them.
	return visible.JSON(string(raw)), err
}

// place finds the position and the lines of the proposal: in the list, or with a list of its own at the top of the
// profile.
func (p *Proposal) place(src, rule string) (at int, lines []string, err error) {
	text := strings.TrimPrefix(src, "\ufeff")
	root, bad := settings.ParseFile(text)
	if bad != nil {
		return 0, nil, errors.New(bad.Message)
	}
	mark := len(src) - len(text)
	n := root
	for _, key := range []string{"evaluation", "profiles", p.Profile} {
		if n = settings.Member(n, key); n.Kind() == strictjson.Missing {
			return 0, nil, fmt.Errorf("the file has no profile %q", p.Profile)
		}
	}
	if list := settings.Member(n, p.List); list.Kind() != strictjson.Missing {
		return mark + list.Offset() + 1, []string{rule + ","}, nil
	}
	lines = []string{fmt.Sprintf("%q: [%s],", p.List, rule)}
	return mark + n.Offset() + 1, lines, nil
}

// comment words the proposal, indented like the preceding line.
func (p *Proposal) comment(before string, lines []string, note string) string {
	last := before[strings.LastIndexByte(before, '\n')+1:]
	indent := last[:len(last)-len(strings.TrimLeft(last, " \t"))] + "  "
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s// Proposed %s", indent, p.Time.UTC().Format(time.DateOnly))
	if p.By != "" {
		fmt.Fprintf(&b, " by %s", oneLine(p.By))
	}
	if p.Why != "" {
		fmt.Fprintf(&b, ": %s", oneLine(p.Why))
	}
	fmt.Fprintf(&b, ".\n%s// To accept it, take the // of the next line away; to refuse it, remove the lines.\n", indent)
	if note != "" {
		fmt.Fprintf(&b, "%s// %s\n", indent, note)
	}
	for _, line := range lines {
		fmt.Fprintf(&b, "%s// %s\n", indent, line)
	}
	return b.String() + indent
}

// oneLine keeps other people's text inside its comment, and short.
func oneLine(s string) string {
	return strings.TrimRight(match.Shortened(visible.InComment(s)), ".")
}

// sameMeaning verifies that a file decides every call as before.
func sameMeaning(before *config.Config, after []byte, load func([]byte) (*config.Config, error)) error {
	now, err := load(after)
	if err != nil {
		return fmt.Errorf("the proposal would break the file: %w", err)
	}
	for _, name := range append(before.All(), "") {
		was, is := before.Profile(name), now.Profile(name)
		if is == nil || was.Digest() != is.Digest() {
			return fmt.Errorf("the proposal would change the profile %q", name)
		}
	}
	return nil
}
