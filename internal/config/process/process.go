// Package process has the keys of a configuration that concern a process as a whole: where it keeps its record, who may
// connect, on which page people answer. Each key is a field of [Keys] or of a struct in it; package settings reads
// them.
package process

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Keys are the keys that concern the process as a whole. In a project's file they have no effect. A nil key is in no
// file.
type Keys struct {
	Builtin *Builtin `key:"builtin"` // The servers that need nothing installed.
	// Where the record and all that is remembered is kept: the path of an SQLite file, relative to the state folder, the
	// URL of a PostgreSQL database, or an object. ${VARIABLE}, ${VARIABLE:-default}, ${cmd:...} and ${file:...} are
	// replaced. It counts from the start of a process.
	Store *WrittenStore `key:"store" like:"write a file, 'postgres://...', or an object"`
	// Values and console outputs that do not fit into a reply are kept for later programs of the same principal, as are
	// images, audio and files with codemode.keep: codemode.load, and the MCP resources codemode://results/HANDLE. false
	// keeps none.
	Results *Results `key:"results" like:"write false, or {'keep': '24h'}"`
	// What calls may use of a minute, an hour or a day of UTC, in all runs together: exactly, in all processes that share
	// the store. A call that does not fit is refused with the reason limit; nobody is asked about it, and the record has
	// the first such refusal of a run.
	Budgets budgets `key:"budgets" max:"100" each:"the budget"`
	// Programs may go on where another one of the same principal ended, and what they declared is kept for that
	// (sessions.md). true, or an object: MCP clients are offered sessions. If left out, only codemode run and Go programs
	// use them. false: no program runs in a session.
	Sessions *Sessions `key:"sessions" like:"write true, false, or {'keep': '168h'}"`
	// What the process has for all principals together, from its start. One principal gets three quarters at most.
	Capacity *Capacity `key:"capacity"`
	// Linux: codemode serve gives up the rights that it does not need, and its servers get what their entries name. true
	// is codemode serve --confine; "best-effort" goes on where the system cannot do all of it. It counts from the start
	// of a process. See security.md#a-second-layer.
	Confine *Confine `key:"confine" like:"write true, false, 'best-effort' or an object"`
	// Who may come in over HTTP (codemode serve --http). With tokens nobody gets in without one.
	HTTP *HTTP `key:"http" like:"write {'tokens': [...]}; the address is that of codemode serve --http"`
	// Where the traces of runs go: the URL of an OpenTelemetry collector, or an object (operations.md). It counts from
	// the start of a process. Off if left out.
	Tracing *Tracing `key:"tracing"`
	// Where codemode serve shows its figures (/metrics) and its health (/livez, /readyz): an address, or an object
	// (operations.md). It counts from the start of a process. Off if left out.
	Diagnostics *Diagnostics `key:"diagnostics"`
	// The web page on which people answer: false for none, the address of a listener of its own, or an object.
	Console *Console `key:"console" like:"write false, an address such as '127.0.0.1:7391', or an object"`
	// Where people are told of questions that wait for them (notifications.md).
	Notifications *Notifications `key:"notifications"`
	// How a terminal for answers is opened when a program asks and nobody is there: off, hint (a line in the log; if left
	// out), auto, tmux, terminal, or an object.
	Responder *Responder `key:"responder"`
}

// Capacity is the key "capacity". A zero field means that the file does not set it.
type Capacity struct {
	// For all programs that run; usually a quarter of the machine's memory, and 512MiB at most.
	GuestMemory int64 `key:"guestMemory" form:"capacity"`
	WaitingRuns int   `key:"waitingRuns" form:"capacityCount" min:"8"` // Runs that wait for people; usually 1024.
	// For runs that wait for people, in memory, and of one principal in the database; usually 128MiB.
	WaitingMemory int64 `key:"waitingMemory" form:"capacity"`
	Sessions      int   `key:"sessions" form:"capacityCount" min:"8"` // Over HTTP; usually 4096.
	Requests      int   `key:"requests" form:"capacityCount" min:"8"` // Served at once over HTTP; usually 4096.
}

// Confine is the key "confine": whether codemode serve gives up the rights that it does not need, and which files it
// needs besides those that it knows of.
type Confine struct {
	On   bool   `alone:"true"`
	No   bool   `alone:"false"`
	Mode string `alone:"text" words:"best-effort"`
	// What codemode itself needs to read besides what it knows of: files, and folders with all below. In full, or with
	// ~/.
	Read []string `key:"read" form:"pathAtHome"`
	// Likewise, to write: such as the folder of this file, if the page is to change rules.
	Write      []string `key:"write" form:"pathAtHome"`
	BestEffort bool     `key:"bestEffort"` // As "best-effort".
}

// Check turns it on.
func (c *Confine) Check(*settings.Reader, strictjson.Value, string) {
	c.On, c.BestEffort = !c.No, c.BestEffort || c.Mode != ""
	c.No, c.Mode = false, ""
}

// Builtin is the key "builtin": which built-in servers run.
type Builtin struct {
	Time bool
	Root string // the folder of the filesystem, relative to the configuration file; "" = no filesystem
}

// ReadKey reads false for none, or an object such as {"time": false, "filesystem": {"root": "notes"}}.
func (built *Builtin) ReadKey(r *settings.Reader, n strictjson.Value, what string, _ *settings.Spec) {
	built.Time = true
	switch n.Kind() {
	case strictjson.False, strictjson.True:
		built.Time = n.Kind() == strictjson.True
	case strictjson.Object:
		r.Object(n, what, []settings.Field{
			settings.Key("time", func(n strictjson.Value) {
				if n.Kind() == strictjson.Object {
					r.Object(n, `"time"`, nil)
					return
				}
				built.Time, _ = r.Boolean(n, `"time"`)
			}),
			settings.Key("filesystem", func(n strictjson.Value) { built.Root = filesystem(r, n) }),
		})
	default:
		r.Wrong(n, `write false, or {"filesystem": {"root": "DIR"}}`, `%s must be false or an object, this is %s`, what,
			n.Kind())
	}
}

// Schema is its JSON Schema.
func (Builtin) Schema() string {
	return `{"anyOf": [{"type": "boolean"}, {"type": "object", "properties": {
		"time": {"anyOf": [{"type": "boolean"}, {"type": "object", "properties": {}, "additionalProperties": false}]},
		"filesystem": {"anyOf": [{"const": false}, {"type": "object", "properties": {
			"root": {"description": "The folder that programs may use.", "type": "string", "minLength": 1}
		}, "required": ["root"], "additionalProperties": false}]}
	}, "additionalProperties": false}]}`
}

func filesystem(r *settings.Reader, n strictjson.Value) (root string) {
	if n.Kind() == strictjson.False {
		return ""
	}
	hint := `write {"root": "DIR"}, or false`
	if n.Kind() != strictjson.Object {
		r.Wrong(n, hint, `"filesystem" must be an object with a root, this is %s`, n.Kind())
		return ""
	}
	r.Object(n, `"filesystem"`, []settings.Field{settings.Key("root", func(n strictjson.Value) {
		var ok bool
		if root, ok = r.Text(n, `"root"`); ok && r.Managed && !filepath.IsAbs(root) {
			r.Wrong(n, "write the folder in full", "a root in the managed file must be absolute")
		}
	})})
	if settings.Member(n, "root").Kind() == strictjson.Missing {
		r.Wrong(n, hint, `"filesystem" needs a root: the folder that programs may use`)
	}
	return root
}

// Responder is the key "responder": how to open a terminal for answers. It is a word or an object.
type Responder struct {
	Start string `key:"start" alone:"text" words:"off hint auto tmux terminal"` // As above; auto if there is a command.
	// What opens a terminal for the words that are put behind it, such as ["kitty", "-e"].
	Command []string `key:"command" min:"1" each:"a word of the command"`
}

// Conflicts reports names of people who sign in that others could have too.
func Conflicts(k *Keys) settings.Problems {
	if k.Console == nil || k.Console.SignIn == nil {
		return nil
	}
	var oauth *OAuth
	var answering, ruling []string
	if k.HTTP != nil {
		oauth = k.HTTP.OAuth
		for _, t := range k.HTTP.Tokens {
			if t.Answers {
				answering = append(answering, t.Principal)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.Console.People)) {
		if k.Console.People[name].Rules {
			ruling = append(ruling, name)
		}
	}
	return k.Console.SignIn.Conflicts(oauth, answering, ruling)
}
