package analysis

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// A Reader compiles like [Compile] and caches recent results: agents send the same program again, with other input,
// after a refusal, or to check it first. The zero value is ready and reads in this process; any number of goroutines
// may use a Reader. Its results are shared; do not change them.
type Reader struct {
	// Workers read in separate processes, which the system kills if a text costs too much. Nil reads in this process,
	// and only texts within the bound of [Compile]. Either way, at most [MostWorkers] texts are read at a time.
	Workers *Workers

	once  sync.Once
	slots chan struct{} // one for each text being read

	mu      sync.Mutex
	entries map[source]*list.Element // of *entry
	recent  list.List                // the latest in front
	bytes   int                      // of all texts
}

// A Reader caches at most maxEntries results, of at most maxBytes of text. The result of a text takes several times its
// size.
const (
	maxEntries = 256
	maxBytes   = 1 << 20
)

type entry struct {
	source
	program  *Program
	problems []Problem
}

// Compile returns the results of [Compile]. The error is that of ctx, if ctx ends first.
func (r *Reader) Compile(ctx context.Context, name, text string) (*Program, []Problem, error) {
	key := source{name, text}
	if e := r.find(key); e != nil {
		return e.program, e.problems, nil
	}
	r.once.Do(func() { r.slots = make(chan struct{}, MostWorkers()) })
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	defer func() { <-r.slots }()
	if r.Workers == nil {
		program, problems := Compile(name, text)
		r.add(&entry{key, program, problems})
		return program, problems, nil
	}
	for range 2 { // a worker may end for a reason unrelated to the text
		program, problems, err := r.Workers.compile(ctx, key)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err == nil:
			r.add(&entry{key, program, problems})
			return program, problems, nil
		}
		r.Workers.failed(err)
		if errors.Is(err, errLate) {
			break
		}
	}
	program, problems := Compile(name, text)
	return program, problems, nil // not cached: a worker may read more of it later
}

func (r *Reader) find(key source) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[key]
	if !ok {
		return nil
	}
	r.recent.MoveToFront(e)
	return e.Value.(*entry)
}

func (r *Reader) add(e *entry) {
	if len(e.text) > maxBytes/4 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.entries[e.source]; ok {
		return // another goroutine was faster
	}
	if r.entries == nil {
		r.entries = map[source]*list.Element{}
	}
	r.entries[e.source] = r.recent.PushFront(e)
	r.bytes += len(e.text)
	for r.recent.Len() > maxEntries || r.bytes > maxBytes {
		last := r.recent.Back()
		old := r.recent.Remove(last).(*entry)
		delete(r.entries, old.source)
		r.bytes -= len(old.text)
	}
}
