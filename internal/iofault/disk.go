package iofault

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

type kind int

const (
	open kind = iota
	read
	write_
	truncate
	sync_
	remove
)

func (k kind) String() string {
	return [...]string{"open", "read", "write", "truncate", "sync", "remove"}[k]
}

// An op is an operation on a file.
type op struct {
	kind   kind
	path   string
	offset int64 // of a write; the size, of a truncate
	data   []byte
	folder bool // of a sync: of the folder too, which makes removals permanent
}

// A Disk decides the results of the operations on the files of one folder.
type Disk struct {
	mu   sync.Mutex
	dir  string
	open map[uintptr]*file // by address in the library's memory

	count int // operations since the last FailAt
	from  int // the first that fails; 0: none
	to    int // the last that fails; 0: all after the first
	hit   string

	logging bool
	log     []op
}

// FailAt makes the nth operation from now on in the folder fail, counted from 1, and if lasting all after it.
func (d *Disk) FailAt(dir string, n int, lasting bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dir, d.count, d.from, d.to, d.hit = dir, 0, n, n, ""
	if lasting {
		d.to = 0
	}
}

// Mend stops all failures and returns what failed first, "" if nothing did.
func (d *Disk) Mend() (hit string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.from = 0
	return d.hit
}

// Log starts recording the operations in the folder.
func (d *Disk) Log(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dir, d.logging, d.log = dir, true, nil
}

// Stop ends the log and returns it.
func (d *Disk) Stop() Log {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.logging = false
	return d.log
}

// Now returns how many operations the log has.
func (d *Disk) Now() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.log)
}

func (d *Disk) file(address uintptr) *file {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[address]
}

func (d *Disk) fails(k kind, path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.from == 0 || filepath.Dir(path) != d.dir {
		return false
	}
	d.count++
	if d.count < d.from || d.to != 0 && d.count > d.to {
		return false
	}
	if d.hit == "" {
		d.hit = k.String() + " " + strings.TrimPrefix(path, d.dir+string(filepath.Separator))
	}
	return true
}

func (d *Disk) did(o op) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.logging && filepath.Dir(o.path) == d.dir {
		o.data = slices.Clone(o.data)
		d.log = append(d.log, o)
	}
}

// A Log is the operations on the files of a folder, in order.
type Log []op

// sector is the unit that a disk writes whole or not at all.
const sector = 512

// Left returns what a power cut after the first n operations may leave of each file: everything synced, and of the rest
// any part in any order, the last one torn. A file without content never existed, or was removed.
func (l Log) Left(n int, rnd *rand.Rand) map[string][]byte {
	files, removed := map[string][]op{}, map[string]int{} // how many operations on a file are permanent
	for _, o := range l[:n] {
		files[o.path] = append(files[o.path], o)
		if o.folder {
			for path, ops := range files {
				for i, o := range ops {
					if o.kind == remove {
						removed[path] = i + 1
					}
				}
			}
		}
	}
	left := map[string][]byte{}
	for path, ops := range files {
		if content, there := leftOf(ops[removed[path]:], rnd); there {
			left[path] = content
		}
	}
	return left
}

func leftOf(ops []op, rnd *rand.Rand) (content []byte, there bool) {
	synced := 0
	for i, o := range ops {
		if o.kind == sync_ {
			synced = i + 1
		}
	}
	for _, o := range ops[:synced] {
		content, there = apply(o, content, there)
	}
	rest := slices.Clone(ops[synced:])
	if rnd.IntN(2) == 0 && !slices.ContainsFunc(rest, func(o op) bool { return o.kind == remove }) {
		rnd.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	}
	keep := rnd.IntN(5) // of four: none, some, all
	for _, o := range rest {
		if rnd.IntN(4) >= keep {
			continue
		}
		if o.kind == write_ && rnd.IntN(4) == 0 {
			o.data = o.data[:rnd.IntN(len(o.data)/sector+1)*sector]
		}
		content, there = apply(o, content, there)
	}
	return content, there
}

func apply(o op, content []byte, there bool) ([]byte, bool) {
	switch o.kind {
	case remove:
		return nil, false
	case truncate:
		if int(o.offset) <= len(content) {
			return content[:o.offset:o.offset], there
		}
		return append(content, make([]byte, int(o.offset)-len(content))...), true
	case write_:
		if grow := int(o.offset) + len(o.data) - len(content); grow > 0 {
			content = append(content, make([]byte, grow)...)
		}
		copy(content[o.offset:], o.data)
		return content, true
	}
	return content, there
}
