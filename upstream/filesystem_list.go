package upstream

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

func sortEntries(entries []fs.DirEntry) {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
}

func (f *operation) list(_ context.Context, a struct {
	Path string `json:"path"`
}) (any, error) {
	dir := cmp.Or(a.Path, ".")
	if err := check(dir); err != nil {
		return nil, err
	}
	type entry struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Size *int64 `json:"size,omitempty"`
	}
	entries, truncated, err := f.readDir(dir)
	if err != nil {
		return nil, err
	}
	out := []entry{}
	for _, e := range entries {
		item := entry{Name: e.Name(), Type: kindOf(e.Type())}
		if e.Type().IsRegular() {
			if info, err := e.Info(); err == nil { // else it has just gone
				size := info.Size()
				item.Size = &size
			}
		}
		out = append(out, item)
	}
	return map[string]any{"entries": out, "truncated": truncated}, nil
}

// A node is one entry of a tree. A directory has children, if only none.
type node struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Children *[]*node `json:"children,omitempty"`
}

func (f *operation) tree(ctx context.Context, a struct {
	Path    string   `json:"path"`
	Exclude []string `json:"excludePatterns"`
}) (any, error) {
	dir := cmp.Or(a.Path, ".")
	if err := check(dir); err != nil {
		return nil, err
	}
	w := &walk{f: f, left: entriesMax, exclude: a.Exclude}
	top := &node{Children: &[]*node{}}
	nodes := map[string]*node{".": top}
	err := w.run(ctx, dir, func(name string, e fs.DirEntry) {
		n := &node{Name: e.Name(), Type: kindOf(e.Type())}
		if e.IsDir() {
			n.Children = &[]*node{}
			nodes[name] = n
		}
		parent := nodes[path.Dir(name)]
		*parent.Children = append(*parent.Children, n)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"tree": *top.Children, "truncated": w.truncated}, nil
}

func (f *operation) search(ctx context.Context, a struct {
	Path    string   `json:"path"`
	Pattern string   `json:"pattern"`
	Exclude []string `json:"excludePatterns"`
}) (any, error) {
	dir := cmp.Or(a.Path, ".")
	if err := check(dir); err != nil {
		return nil, err
	}
	if err := checkPattern(a.Pattern); err != nil {
		return nil, err
	}
	w := &walk{f: f, left: 20 * entriesMax, exclude: a.Exclude}
	matches := []string{}
	err := w.run(ctx, dir, func(name string, _ fs.DirEntry) {
		if !matchPath(a.Pattern, name) {
			return
		}
		if len(matches) == entriesMax {
			w.truncated = true
			return
		}
		matches = append(matches, path.Join(dir, name))
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(matches)
	return map[string]any{"matches": matches, "truncated": w.truncated}, nil
}

// A walk visits what is below a directory, within limits. It does not follow
// symbolic links, so it ends.
type walk struct {
	f         *operation
	exclude   []string
	left      int // entries that may still be visited
	truncated bool
}

func (w *walk) run(ctx context.Context, dir string, visit func(name string, e fs.DirEntry)) error {
	for _, p := range w.exclude {
		if err := checkPattern(p); err != nil {
			return err
		}
	}
	return w.visit(ctx, dir, ".", 0, visit)
}

// visit goes through base/dir; names given to the visitor are relative to base.
func (w *walk) visit(ctx context.Context, base, dir string, depth int, visit func(string, fs.DirEntry)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, truncated, err := w.f.readDir(path.Join(base, dir))
	if err != nil {
		if depth == 0 {
			return err
		}
		w.truncated = true // a directory below that cannot be read
		return nil
	}
	w.truncated = w.truncated || truncated
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if slices.ContainsFunc(w.exclude, func(p string) bool { return matchPath(p, name) || matchPath(p, e.Name()) }) {
			continue
		}
		if w.left--; w.left < 0 {
			w.truncated = true
			return nil
		}
		visit(name, e)
		if e.IsDir() {
			if depth+1 >= treeDepth {
				w.truncated = true
				continue
			}
			if err := w.visit(ctx, base, name, depth+1, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPattern(p string) error {
	if len(p) > 1000 {
		return fmt.Errorf("the pattern has more than 1000 bytes")
	}
	if _, err := path.Match(strings.ReplaceAll(p, "**", "*"), ""); err != nil || p == "" {
		return fmt.Errorf("%q is no pattern: write it like **/*.md", p)
	}
	return nil
}

// matchPath reports whether the slash-separated name matches the pattern, in
// which ** as a whole part stands for any number of parts, none included.
func matchPath(pattern, name string) bool {
	return matchParts(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func matchParts(pattern, name []string) bool {
	// The usual way back to the last **: linear for one, quadratic at worst.
	starPattern, starName := -1, 0
	i, j := 0, 0
	for j < len(name) {
		if i < len(pattern) && pattern[i] == "**" {
			starPattern, starName = i, j
			i++
			continue
		}
		if i < len(pattern) {
			if ok, err := path.Match(pattern[i], name[j]); err == nil && ok {
				i, j = i+1, j+1
				continue
			}
		}
		if starPattern < 0 {
			return false
		}
		starName++
		i, j = starPattern+1, starName
	}
	for i < len(pattern) && pattern[i] == "**" {
		i++
	}
	return i == len(pattern)
}
