package inforce

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/visible"
)

// A Script is a saved program that a caller may run by name.
type Script struct {
	Name        string          `json:"name"` // path below the root, with slashes
	Description string          `json:"description,omitempty"`
	Profile     string          `json:"profile,omitempty"` // what it runs under; "" is the caller's
	Input       json.RawMessage `json:"input,omitempty"`   // JSON Schema; nil: it takes none
	SHA256      string          `json:"sha256"`            // of the current file
}

// A ScriptError says why a saved program was not run.
type ScriptError struct {
	Name   string
	Detail string
	Names  []string // nearest, or all if they are few
}

func (e *ScriptError) Error() string {
	text := fmt.Sprintf("the saved program %q cannot be run: %s", e.Name, e.Detail)
	if len(e.Names) > 0 {
		text += "; there are " + strings.Join(e.Names, ", ")
	}
	return text
}

// A SavedProgram is the text of a name at one moment, read once.
type SavedProgram struct {
	Script
	code string
	rule *config.Script
}

// maxScripts is how many saved programs are listed.
const maxScripts = 200

func (r *Rules) SavedScripts(ctx context.Context) []Script {
	now := r.Now()
	cfg, root := now.Config, now.Scripts
	if cfg == nil || cfg.Scripts == nil || root == nil {
		return nil
	}
	seen := map[string]bool{}
	var list []Script
	for i := range cfg.Scripts.Allow {
		rule := &cfg.Scripts.Allow[i]
		names := []string{rule.File}
		if rule.File == "" {
			names = names[:0]
			entries, _ := fs.ReadDir(root.FS(), rule.Folder) // a missing folder has none
			for _, entry := range entries {
				name := entry.Name()
				if rule.Folder != "." {
					name = rule.Folder + "/" + name
				}
				if !entry.IsDir() && rule.Covers(name) {
					names = append(names, name)
				}
			}
		}
		for _, name := range names {
			if seen[name] || len(list) >= maxScripts || ctx.Err() != nil {
				continue
			}
			seen[name] = true
			if saved, err := r.Script(name); err == nil {
				list = append(list, saved.Script)
			}
		}
	}
	slices.SortFunc(list, func(a, b Script) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Script reads a saved program, if a rule allows its current content.
func (r *Rules) Script(name string) (*SavedProgram, error) {
	now := r.Now()
	cfg, root := now.Config, now.Scripts
	refuse := func(format string, args ...any) (*SavedProgram, error) {
		return nil, &ScriptError{Name: name, Detail: fmt.Sprintf(format, args...)}
	}
	if cfg == nil || cfg.Scripts == nil || root == nil {
		return refuse("there are no saved programs here")
	}
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
		return refuse(`a name is a path below the root of the saved programs, with slashes and without ".."`)
	}
	var rules []*config.Script
	for i := range cfg.Scripts.Allow {
		if cfg.Scripts.Allow[i].Covers(name) {
			rules = append(rules, &cfg.Scripts.Allow[i])
		}
	}
	if len(rules) == 0 {
		return refuse("there is no such saved program, or nobody allowed it")
	}
	limits, _ := r.Limits(cfg.Profile(rules[0].Profile), "")
	code, err := readScript(root, name, limits.ProgramBytes)
	if err != nil {
		return refuse("%v", err)
	}
	sum := sha256.Sum256([]byte(code))
	hash := hex.EncodeToString(sum[:])
	var pinned *config.Script
	for _, rule := range rules {
		if rule.File == "" || rule.SHA256 == hash {
			s := Script{Name: name, Description: rule.Description, Profile: rule.Profile, Input: rule.Input, SHA256: hash}
			if s.Description == "" {
				s.Description = firstComment(code)
			}
			return &SavedProgram{Script: s, code: code, rule: rule}, nil
		}
		pinned = rule
	}
	return refuse("its content is not what was allowed at %s: its SHA-256 is %s; a person has to look at it and allow it again", pinned.Pos.Short(), hash)
}

// readScript reads one regular file of bounded length.
func readScript(root *os.Root, name string, most int) (string, error) {
	if info, err := root.Stat(name); err != nil {
		return "", errors.New("it cannot be found, or is not inside the root of the saved programs")
	} else if !info.Mode().IsRegular() { // checked first: opening a pipe would wait
		return "", errors.New("it is no file")
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", errors.New("it cannot be opened")
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.New("it is no file")
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case err != nil:
		return "", errors.New("it cannot be read")
	case len(data) > most:
		return "", fmt.Errorf("it has more than %d bytes", most)
	case !utf8.Valid(data):
		return "", errors.New("it is not text in UTF-8")
	}
	return string(data), nil
}

// firstComment is the description of a saved program in its first line.
func firstComment(code string) string {
	lines := bufio.NewScanner(strings.NewReader(code))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#!") {
			continue
		}
		if text, ok := strings.CutPrefix(line, "//"); ok {
			return visible.Short(strings.TrimSpace(text), 200)
		}
		return ""
	}
	return ""
}

// load adds to a request the text of the saved program that it names, and the profile for it.
func (r *Rules) load(q *Wish) (*SavedProgram, error) {
	saved, err := r.Script(q.Script)
	if err != nil {
		return nil, err
	}
	if saved.Profile != "" && saved.Profile != q.Profile {
		if q.Bound {
			return nil, &ScriptError{Name: q.Script,
				Detail: fmt.Sprintf("it runs under the profile %s, and only %s is offered here", saved.Profile, q.Profile)}
		}
		q.Profile = saved.Profile
	}
	q.Code, q.Name = saved.code, path.Base(saved.Name)
	return saved, nil
}

// Takes refuses an input that the rule of a saved program does not allow.
func (s *SavedProgram) Takes(ctx context.Context, input json.RawMessage) error {
	if s == nil {
		return nil // a program of the caller takes any
	}
	given := len(input) > 0 && string(input) != "null"
	if s.Input == nil {
		if given {
			return &ScriptError{Name: s.Name, Detail: "it takes no input"}
		}
		return nil
	}
	err := Fits(ctx, s.Input, input)
	if wrong, ok := errors.AsType[*catalog.ArgumentError](err); ok {
		err = fmt.Errorf("its input does not fit: %s: expected %s, got %s", cmp.Or(wrong.Path, "as a whole"), wrong.Want,
			wrong.Got)
	}
	if err != nil {
		return &ScriptError{Name: s.Name, Detail: err.Error()}
	}
	return nil
}

// Fits checks the input of a saved program; a missing input is null.
func Fits(ctx context.Context, schema, input json.RawMessage) error {
	if schema == nil || string(schema) == "true" {
		return nil
	}
	if len(input) == 0 {
		input = json.RawMessage("null")
	}
	return catalog.Fits(ctx, schema, input)
}
