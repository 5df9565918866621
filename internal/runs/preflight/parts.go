package preflight

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/visible"
)

// partWarnings warns of parts of results that a program reads and that the types of the results do not have.
func partWarnings(tools *registry.Registry, p *analysis.Program) (warnings []string) {
	lacking := map[string]bool{}
	for _, r := range p.Results {
		t := tools.Catalog.Lookup(r.Tool)
		parent, name := r.Shown()
		if t == nil || lacking[r.Tool+parent] {
			continue
		}
		path, _ := strictjson.Tokens(r.Path)
		if has, known, shape := t.Part(path); known && !has && len(warnings) < planLines {
			lacking[r.Tool+r.Path] = true
			warnings = append(warnings, partNote(&r, "gives", name, shape, parent))
		}
	}
	return warnings
}

func partNote(r *analysis.ResultRead, gives, name, shape, parent string) string {
	if parent != "" {
		shape += " at " + visible.Short(parent, 60)
	}
	text := fmt.Sprintf("line %d, column %d: %s %s %s, which has no %q", r.Line, r.Column, r.Tool, gives,
		visible.Short(shape, 200), visible.Short(name, 60))
	if name == "isError" || name == "error" {
		text += "; a call that fails throws"
	}
	return text
}

// Parts watches the results of a run for parts that its program reads and that are not there. Many goroutines may use it.
type Parts struct {
	tools *registry.Registry

	mu    sync.Mutex
	reads map[string][]*partRead // by tool, those that no result had yet
	left  int                    // of the bytes of results that it reads
}

type partRead struct {
	analysis.ResultRead
	path  []string
	shape string // of the first result without the part, "" while there was none
}

// watchedBytes bounds the results of one run that Parts reads. It stops reading those of a tool when every part was
// there once, which in a right program is after the first result.
const watchedBytes = 1 << 20

// NewParts watches the run of a program.
func NewParts(tools *registry.Registry, p *analysis.Program) *Parts {
	w := &Parts{tools: tools, reads: map[string][]*partRead{}, left: watchedBytes}
	for _, r := range p.Results {
		path, err := strictjson.Tokens(r.Path)
		if err == nil && len(path) > 0 {
			w.reads[r.Tool] = append(w.reads[r.Tool], &partRead{ResultRead: r, path: path})
		}
	}
	return w
}

// Result notes a result as the program gets it.
func (w *Parts) Result(tool string, value json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.reads[tool]) == 0 || len(value) > w.left {
		return
	}
	w.left -= len(value)
	v, err := strictjson.Parse(string(value), strictjson.Options{})
	if err != nil {
		return
	}
	w.reads[tool] = slices.DeleteFunc(w.reads[tool], func(r *partRead) bool { return r.in(v, r.path) })
}

// in reports whether a value has the part. Where it certainly has not, it notes the shape.
func (r *partRead) in(v strictjson.Value, path []string) (has bool) {
	name := path[0]
	lacks := func(shape string) bool {
		if len(path) == 1 && r.shape == "" {
			r.shape = shape
		}
		return false
	}
	switch v.Kind() {
	case strictjson.Object:
		next, ok := v.Member(name)
		if !ok {
			return lacks("{" + strings.Join(keysOf(v), ", ") + "}")
		}
		return len(path) == 1 || r.in(next, path[1:])
	case strictjson.Array:
		switch {
		case catalog.IsArrayName(name):
			return true
		case name != "-" && strings.Trim(name, "0123456789") != "":
			return lacks("an array")
		case len(path) == 1:
			return true
		}
		for _, e := range v.Elements() {
			if has = r.in(e, path[1:]); has {
				break
			}
		}
		return has
	case strictjson.String:
		if catalog.IsArrayName(name) || textNames[name] || strings.Trim(name, "0123456789") == "" {
			return true
		}
		return lacks("text")
	}
	return false
}

// textNames are properties of texts that arrays do not have.
var textNames = map[string]bool{"charAt": true, "charCodeAt": true, "codePointAt": true, "endsWith": true,
	"isWellFormed": true, "localeCompare": true, "match": true, "matchAll": true, "normalize": true, "padEnd": true,
	"padStart": true, "repeat": true, "replace": true, "replaceAll": true, "search": true, "split": true,
	"startsWith": true, "substr": true, "substring": true, "toLowerCase": true, "toUpperCase": true, "toLocaleLowerCase": true,
	"toLocaleUpperCase": true, "trim": true, "trimEnd": true, "trimStart": true, "toWellFormed": true, "-": true}

// keysOf are the names of an object's members, at most shownKeys.
func keysOf(v strictjson.Value) (names []string) {
	for name := range v.Members() {
		if len(names) == shownKeys {
			return append(names, "…")
		}
		names = append(names, visible.Short(name, 40))
	}
	return names
}

const shownKeys = 12

// Notes says which parts no result had, in the order of the text. A part that the tool declares and that was left out is
// none of them.
func (w *Parts) Notes() (notes []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lacking []*partRead
	for tool, reads := range w.reads {
		t := w.tools.Catalog.Lookup(tool)
		for _, r := range reads {
			if r.shape == "" {
				continue
			}
			if t != nil {
				if has, _, _ := t.Part(r.path); has {
					continue
				}
			}
			lacking = append(lacking, r)
		}
	}
	slices.SortFunc(lacking, func(a, b *partRead) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	for _, r := range lacking[:min(len(lacking), notesMost)] {
		parent, name := r.Shown()
		notes = append(notes, partNote(&r.ResultRead, "gave", name, r.shape, parent))
	}
	return notes
}

// notesMost is how many notes about results an answer has.
const notesMost = 5
