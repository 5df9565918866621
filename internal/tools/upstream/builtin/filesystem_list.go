package builtin

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
)

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
			if info, err := e.Info(); err == nil { // otherwise it no longer exists
				size := info.Size()
				item.Size = &size
			}
		}
		out = append(out, item)
	}
	return map[string]any{"entries": out, "truncated": truncated}, nil
}

// A node is one entry of a tree. A directory has children, perhaps an empty list.
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
	exclude, err := newPatterns(a.Exclude)
	if err != nil {
		return nil, err
	}
	w := &walk{f: f, left: entriesMax, exclude: exclude}
	top := &node{Children: &[]*node{}}
	nodes := map[string]*node{".": top}
	err = w.visit(ctx, dir, ".", 0, func(name string, e fs.DirEntry) {
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
	wanted, err := newPattern(a.Pattern)
	if err != nil {
		return nil, err
	}
	exclude, err := newPatterns(a.Exclude)
	if err != nil {
		return nil, err
	}
	w := &walk{f: f, left: 20 * entriesMax, exclude: exclude}
	matches := []string{}
	err = w.visit(ctx, dir, ".", 0, func(name string, _ fs.DirEntry) {
		if !wanted.match(name) {
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

// A walk visits everything below a directory, within limits. It does not follow
// symbolic links, so it ends.
type walk struct {
	f         *operation
	exclude   []pattern
	left      int // entries that the walk may still visit
	truncated bool
}

// visit visits base/dir. The names that it passes to visit are relative to base.
func (w *walk) visit(ctx context.Context, base, dir string, depth int, visit func(string, fs.DirEntry)) error {
	entries, truncated, err := w.f.readDir(path.Join(base, dir))
	if err != nil {
		if depth == 0 {
			return err
		}
		w.truncated = true // this directory is unreadable
		return nil
	}
	w.truncated = w.truncated || truncated
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(dir, e.Name())
		if slices.ContainsFunc(w.exclude, func(p pattern) bool { return p.match(name) || p.match(e.Name()) }) {
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
