// Package changes predicts the effect of a change of the rules: it reads past calls from a record, writes a proposed
// rule for a person's review into a file, and says what that rule would have changed.
package changes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

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
