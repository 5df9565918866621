package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/audit"
)

// Rules are what an administrator sees and changes. Its methods may be called by many goroutines, and their errors are shown.
type Rules interface {
	// Files lists the configuration files that hold together, and why they do not hold as they are; "" is that they do.
	Files() (files []RuleFile, stale string)
	// Check says what would be wrong if a file were so. Nothing changes.
	Check(path string, text []byte) error
	// Save writes a file that Check finds nothing wrong with, if its digest is still the one given.
	Save(ctx context.Context, path, digest string, text []byte) error
	// Propose writes a rule into a file as a comment, for review, and returns which file.
	Propose(ctx context.Context, p Proposal) (file string, err error)
	// NewSession makes a session for a role.
	NewSession(role string, life time.Duration) (id string, expires time.Time, err error)
}

// A RuleFile is one of the configuration files.
type RuleFile struct {
	Path     string
	Standing string // whose it is, in words
	Digest   string
	Text     string
	Editable bool
	New      bool // it is not there yet
}

// A Proposal is a rule that somebody would like to have.
type Proposal struct {
	Profile, Tool string
	Args          json.RawMessage // with these arguments and no others; nil is any
	List          string          // allowlist or asklist; "" is allowlist
	By, Why       string
}

type rulesView struct {
	frame
	Files   []RuleFile
	Stale   string
	Problem string
	Path    string // of the file that is being changed
	Text    string
	Lives   []string

	Profile string // from a link
	Tools   []string
	Program string
}

// lives are how long a session for a role may last.
var lives = []struct {
	name string
	life time.Duration
}{{"10 minutes", 10 * time.Minute}, {"1 hour", time.Hour}, {"1 day", 24 * time.Hour}}

// name is what profiles and tools are called, of longestName at most.
var name = regexp.MustCompile(`^[A-Za-z0-9_$]+$`)

const longestName = 256

// mostLinked is how many tools a link may suggest.
const mostLinked = 20

func (c *Console) rulesView(r *http.Request, s *session) *rulesView {
	v := &rulesView{frame: c.frame(s, "rules", "Rules")}
	v.Files, v.Stale = c.options.Rules.Files()
	for i, f := range v.Files {
		if f.Editable {
			v.Files[i].Text = inText(strings.TrimPrefix(f.Text, "\ufeff")) // some editors leave a mark at the start
		}
	}
	for _, l := range lives {
		v.Lives = append(v.Lives, l.name)
	}
	query := r.URL.Query() // of a link that anybody may have made
	v.Profile, v.Program = query.Get("profile"), query.Get("program")
	for _, tool := range query["allow"] {
		if max(len(v.Profile), len(tool)) <= longestName && name.MatchString(v.Profile) && name.MatchString(tool) && len(v.Tools) < mostLinked {
			v.Tools = append(v.Tools, tool)
		}
	}
	return v
}

func (c *Console) showRules(w http.ResponseWriter, r *http.Request, s *session) {
	if !c.admin(s.person) {
		c.fail(w, r, http.StatusForbidden, "rules are changed by those who look after them")
		return
	}
	c.render(w, "rules", c.rulesView(r, s))
}

// changeRules does what the buttons of the page say.
func (c *Console) changeRules(w http.ResponseWriter, r *http.Request, s *session) {
	if !c.admin(s.person) {
		c.fail(w, r, http.StatusForbidden, "rules are changed by those who look after them")
		return
	}
	form := r.PostForm
	path, text := form.Get("path"), []byte(strings.ReplaceAll(form.Get("text"), "\r\n", "\n"))
	var done string
	var err error
	switch form.Get("do") {
	case "validate":
		if err = c.options.Rules.Check(path, text); err == nil {
			done = "Nothing is wrong with it. It is not saved yet."
		}
	case "save":
		if err = c.options.Rules.Check(path, text); err != nil {
			break
		}
		err = c.note(r.Context(), audit.Entry{
			Kind: audit.Policy, State: "edited", Principal: s.person, Client: "console", Detail: "the file " + path + " is written on the page",
		})
		if err == nil {
			err = c.options.Rules.Save(r.Context(), path, form.Get("digest"), text)
		}
		if err == nil {
			s.say(false, "Saved. The rules hold from the next call on.")
			http.Redirect(w, r, c.options.Path+"/rules", http.StatusSeeOther)
			return
		}
	case "propose":
		p := Proposal{Profile: form.Get("profile"), Tool: form.Get("tool"), List: form.Get("list"), By: s.person, Why: form.Get("why")}
		var file string
		if file, err = c.options.Rules.Propose(r.Context(), p); err == nil {
			s.say(false, "A rule was proposed in "+word(file)+". It decides nothing until somebody takes its comment signs away.")
			http.Redirect(w, r, c.options.Path+"/rules", http.StatusSeeOther)
			return
		}
	case "session":
		err = fmt.Errorf("a session lasts %s, %s or %s", lives[0].name, lives[1].name, lives[2].name)
		for _, l := range lives {
			if l.name != form.Get("life") {
				continue
			}
			if err = c.note(r.Context(), audit.Entry{Kind: audit.Policy, State: "session", Principal: s.person, Role: form.Get("role"), Client: "console", Detail: "a session for a role was made, for " + l.name}); err != nil {
				break
			}
			var id string
			var ends time.Time
			if id, ends, err = c.options.Rules.NewSession(form.Get("role"), l.life); err == nil {
				done = fmt.Sprintf("The session %s for the role %s lasts until %s. It is shown once: hand it to whoever starts the server (codemode serve --session) or connects to it.", id, word(form.Get("role")), ends.Local().Format(time.DateTime))
			}
		}
	default:
		err = fmt.Errorf("nothing is known of %s", approvals.Quote(form.Get("do")))
	}
	v := c.rulesView(r, s)
	v.Path, v.Text = path, inText(string(text))
	if err != nil {
		v.Problem = err.Error()
		w.WriteHeader(http.StatusUnprocessableEntity)
	} else {
		v.Notices = append(v.Notices, notice{Text: done})
	}
	c.render(w, "rules", v)
}
