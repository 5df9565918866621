package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/codemode-project/codemode/internal/config/variables"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// process reads a key that concerns the process as a whole. In a project's file such a key has no effect.
func process[T any](b *builder, n strictjson.Value, to **T, read func(strictjson.Value) T) {
	if b.project() {
		b.outOfPlace(n, false)
		return
	}
	if v := read(n); !b.outOfPlace(n, *to != nil && b.base != nil) {
		*to = &v
	}
}

// outOfPlace warns of a key that has no effect in its file: a project's file cannot set what concerns the process as a
// whole, and an earlier file's setting stays.
func (b *builder) outOfPlace(n strictjson.Value, settled bool) bool {
	switch {
	case b.project():
		b.withoutSay(n, fmt.Sprintf("%q", n.Key()))
		return true
	case settled:
		b.Warn(b.Position(n.KeyOffset()), len(n.Key())+2, "remove it", "%q has no effect: the %s says it already", n.Key(),
			b.before[0].Standing)
		return true
	}
	return false
}

// text reads a string that may contain variables; check may be nil.
func (b *builder) text(n strictjson.Value, what string, check func(string) (message, hint string)) variables.Text {
	return variables.ReadText(b.Reader, n, what, check)
}

// webURL checks the URL of a server that we send data to.
func webURL(what string) func(string) (message, hint string) {
	return func(text string) (message, hint string) {
		if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return what + " must be the URL of a server", "begin it with https:// or http://"
		}
		return "", ""
	}
}

// Capacity is the key "capacity": what a process has for all principals together. A zero field means that the file does
// not set it.
type Capacity struct {
	GuestMemory   int64 // bytes for all running programs
	WaitingRuns   int   // runs waiting for people
	WaitingMemory int64 // bytes for them, in memory, and of one principal in the database
	Sessions      int   // over HTTP
	Requests      int   // concurrent HTTP requests
}

// Bounds of capacities. With fewer than leastCount, nothing would be left for a second principal.
const (
	leastCount    = 8
	leastCapacity = 1 << 20
	maxCapacity   = 1 << 40
)

func (b *builder) capacity(n strictjson.Value) (c Capacity) {
	count := func(name string, to *int) settings.Field {
		return settings.Key(name, func(n strictjson.Value) { *to = int(b.Whole(n, fmt.Sprintf("%q", name), leastCount)) })
	}
	bytes := func(name string, to *int64) settings.Field {
		return settings.Key(name, func(n strictjson.Value) {
			if *to = b.SizeUpTo(n, fmt.Sprintf("%q", name), maxCapacity); *to > 0 && *to < leastCapacity {
				b.Wrong(n, "", "%q must be at least 1MiB", name)
			}
		})
	}
	b.Object(n, `"capacity"`, []settings.Field{
		bytes("guestMemory", &c.GuestMemory), count("waitingRuns", &c.WaitingRuns), bytes("waitingMemory", &c.WaitingMemory),
		count("sessions", &c.Sessions), count("requests", &c.Requests),
	})
	return c
}

// Confine is the key "confine": whether codemode serve gives up the rights that it does not need, and which files it
// needs besides those that it knows of.
type Confine struct {
	On         bool
	BestEffort bool     // also where the system cannot enforce all of it
	Read       []string // absolute; ~ is the home folder
	Write      []string
}

func (b *builder) confine(n strictjson.Value) (c Confine) {
	switch n.Kind() {
	case strictjson.True, strictjson.False:
		c.On = n.Kind() == strictjson.True
		return c
	case strictjson.String:
		if n.Text() != "best-effort" {
			b.Wrong(n, `write true, false, "best-effort" or an object`, `"confine" is %q`, n.Text())
		}
		return Confine{On: true, BestEffort: true}
	}
	c.On = true
	places := func(name string, to *[]string) settings.Field {
		return settings.Key(name, func(n strictjson.Value) {
			for child := range b.Elements(n, fmt.Sprintf("%q", name), true) {
				path, ok := b.Text(child, fmt.Sprintf("an entry of %q", name))
				if ok && !filepath.IsAbs(path) && path != "~" && !strings.HasPrefix(path, "~/") {
					b.Wrong(child, "write it in full, or begin with ~/", "%q has %q, which is not an absolute path", name, path)
				}
				*to = append(*to, path)
			}
		})
	}
	b.Object(n, `"confine"`, []settings.Field{
		places("read", &c.Read), places("write", &c.Write),
		settings.Key("bestEffort", func(n strictjson.Value) { c.BestEffort, _ = b.Boolean(n, `"bestEffort"`) }),
	})
	return c
}

// Builtin is the key "builtin": which built-in servers run.
type Builtin struct {
	Time bool
	Root string // the folder of the filesystem, relative to the configuration file; "" = no filesystem
}

// builtin reads false for none, or an object such as {"time": false, "filesystem": {"root": "notes"}}.
func (b *builder) builtin(n strictjson.Value) Builtin {
	built := Builtin{Time: true}
	switch n.Kind() {
	case strictjson.False, strictjson.True:
		built.Time = n.Kind() == strictjson.True
	case strictjson.Object:
		b.Object(n, `"builtin"`, []settings.Field{
			settings.Key("time", func(n strictjson.Value) {
				if n.Kind() == strictjson.Object {
					b.Object(n, `"time"`, nil)
					return
				}
				built.Time, _ = b.Boolean(n, `"time"`)
			}),
			settings.Key("filesystem", func(n strictjson.Value) { built.Root = b.filesystem(n) }),
		})
	default:
		b.Wrong(n, `write false, or {"filesystem": {"root": "DIR"}}`, `"builtin" must be false or an object, this is %s`,
			n.Kind())
	}
	return built
}

func (b *builder) filesystem(n strictjson.Value) (root string) {
	if n.Kind() == strictjson.False {
		return ""
	}
	hint := `write {"root": "DIR"}, or false`
	if n.Kind() != strictjson.Object {
		b.Wrong(n, hint, `"filesystem" must be an object with a root, this is %s`, n.Kind())
		return ""
	}
	rooted := false
	b.Object(n, `"filesystem"`, []settings.Field{settings.Key("root", func(n strictjson.Value) {
		rooted = true
		var ok bool
		if root, ok = b.Text(n, `"root"`); ok && b.standing == Managed && !filepath.IsAbs(root) {
			b.Wrong(n, "write the folder in full", "a root in the managed file must be absolute")
		}
	})})
	if !rooted {
		b.Wrong(n, hint, `"filesystem" needs a root: the folder that programs may use`)
	}
	return root
}
