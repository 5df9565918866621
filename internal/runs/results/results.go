// Package results keeps what did not fit into the reply of a run, a value or the output of a console, and the images,
// audio and files that a program kept. Later programs of the same principal read it with codemode.load, clients as the
// resource codemode://results/HANDLE.
//
// A [Keeper] stores results in the database of the record, sealed like all that comes from programs, or in memory if
// there is none. Every result has an end, and the results of one principal have a quota: the oldest make way.
//
//	kept, err := keeper.Keep(ctx, &results.Value{Run: run, Principal: principal, JSON: value})
//	part, err := keeper.Load(ctx, principal, kept.Handle, &hostfns.Part{Pointer: "/items", From: new(int64(200))}, most)
//
// What a user may rely on:
//
//   - A handle is random and says nothing. For another principal it is as if it did not exist.
//   - A reader of a part reads no more than the chunks that the part is in, however large the result is.
//   - A result counts as untrusted unless the run that kept it had read nothing from an untrusted server.
package results

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/store"
)

// URI is the beginning of the URIs of results for MCP clients; a handle follows.
const URI = "codemode://results/"

// A Keeper keeps results. Many goroutines may call its methods.
type Keeper struct {
	// Record has the database. Nil, or one that keeps no record, keeps results in memory.
	Record Record

	memory memory

	once   sync.Once
	saving *fair.Budget // bytes of values that are being stored
}

// savingBytes bounds the values that are being stored at the same time: their programs no longer hold memory of the
// sandbox. A value that finds no room is not kept.
const savingBytes = 96 << 20

// room makes room for a value while it is stored. Call done afterwards.
func (k *Keeper) room(owner string, size int64) (done func(), err error) {
	k.once.Do(func() { k.saving = fair.New("bytes of results that are being stored", savingBytes, 0) })
	size = min(size, savingBytes/4) // otherwise a large one would never fit
	if err := k.saving.Try(owner, size); err != nil {
		return nil, err
	}
	return func() { k.saving.Release(owner, size) }, nil
}

// A Record may have a database.
type Record interface {
	Keeps() bool
	DB(ctx context.Context) (*store.DB, error)
}

// db is the database; nil is the memory.
func (k *Keeper) db(ctx context.Context) (*store.DB, error) {
	if k.Record == nil || !k.Record.Keeps() {
		return nil, nil
	}
	return k.Record.DB(ctx)
}

// A Value is something to keep.
type Value struct {
	Run       string
	Principal string
	Owner     string // whose quota it uses
	Profile   string
	Untrusted bool // the run has read the answer of an untrusted server
	JSON      json.RawMessage
	Content   *hostfns.Content // instead of JSON
}

// Kept is what became of a value.
type Kept struct {
	Handle  string
	Shape   string // in words
	Bytes   int
	Expires time.Time
	Removed []string // older results that made way
}

// about is what the store has of a result beside its chunks.
type about struct {
	Shape  string  `json:"shape"`
	Starts []place `json:"starts,omitempty"` // nil if the chunks are bytes

	// Of content.
	Type string `json:"type,omitempty"`
	URI  string `json:"uri,omitempty"`
}

// Keep stores a value within the rules of the configuration.
func (k *Keeper) Keep(ctx context.Context, v *Value, rules config.Results) (*Kept, error) {
	body, a, mimeType := []byte(v.JSON), about{}, ""
	if c := v.Content; c != nil {
		a.Type, a.URI, mimeType = c.Type, c.URI, mediaType(c)
		if body = c.Bytes; c.IsText {
			body, _ = json.Marshal(string(c.Bytes)) // a text always encodes
		}
	}
	size := int64(len(body))
	switch {
	case size > rules.Largest:
		return nil, fmt.Errorf("it has %d bytes, and results.largest in the configuration is %d", size, rules.Largest)
	case size > rules.Bytes:
		return nil, fmt.Errorf("it has %d bytes, and results.bytes in the configuration is %d", size, rules.Bytes)
	}
	done, err := k.room(v.Owner, size)
	if err != nil {
		return nil, err
	}
	defer done()
	var chunks [][]byte
	if v.Content != nil && !v.Content.IsText {
		chunks, a.Shape = slices.Collect(slices.Chunk(body, chunkSize)), describe(mimeType, size)
	} else if chunks, a.Starts, a.Shape, err = parts(ctx, body); err != nil {
		return nil, err
	}
	described, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	r := &store.Result{Handle: rand.Text(), Principal: v.Principal, Owner: v.Owner, Run: v.Run, Profile: v.Profile,
		Untrusted: v.Untrusted, Bytes: size, MIMEType: mimeType, About: described,
		Expires: time.Now().Add(rules.Keep).Truncate(time.Microsecond)}
	kept := &Kept{Handle: r.Handle, Shape: a.Shape, Bytes: len(body), Expires: r.Expires}
	db, err := k.db(ctx)
	switch {
	case err != nil:
		return nil, err
	case db == nil:
		kept.Removed = k.memory.keep(r, chunks, rules.Number, rules.Bytes)
		return kept, nil
	}
	kept.Removed, err = db.Results.Keep(ctx, r, chunks, rules.Number, rules.Bytes)
	return kept, err
}

// parts divides a value, and describes it.
func parts(ctx context.Context, value []byte) (chunks [][]byte, starts []place, shape string, err error) {
	if chunks, starts, err = split(value, chunkSize); err != nil {
		return nil, nil, "", err
	}
	shape, err = shapeOf(&cursor{ctx: ctx, starts: starts, size: int64(len(value)),
		chunk: func(_ context.Context, n int) ([]byte, error) { return chunks[n], nil }})
	return chunks, starts, shape, err
}

// Load returns a part of a result, of at most most bytes of JSON. handle may be the URI of the result. It implements
// [hostfns.Results].
func (k *Keeper) Load(ctx context.Context, principal, handle string, p *hostfns.Part, most int) (*hostfns.Loaded,
	error) {
	handle = strings.TrimPrefix(handle, URI)
	r, err := k.find(ctx, &store.Result{Handle: handle, Principal: principal})
	if err != nil {
		return nil, err
	}
	var a about
	if err := json.Unmarshal(r.About, &a); err != nil || a.Starts != nil && !sound(a.Starts, r.Bytes) ||
		a.Starts == nil && a.Type == "" {
		return nil, errDamaged
	}
	loaded := &hostfns.Loaded{Run: r.Run, Untrusted: r.Untrusted}
	if a.Type != "" {
		loaded.Content = &hostfns.Content{Type: a.Type, MIMEType: r.MIMEType, URI: a.URI, IsText: a.Starts != nil}
	}
	if a.Starts != nil {
		c := &cursor{ctx: ctx, starts: a.Starts, size: r.Bytes, chunk: r.Chunk}
		loaded.JSON, err = c.read(p, most)
	} else {
		loaded.Content.Bytes, err = readBytes(ctx, r, p, most)
	}
	if errors.Is(err, store.ErrNotFound) { // it ended meanwhile
		err = noResult()
	}
	if err != nil {
		return nil, err
	}
	return loaded, nil
}

// sound reports whether chunks can begin at these places of a value.
func sound(starts []place, size int64) bool {
	for i := range starts {
		if s := &starts[i]; s.Depth < 0 || s.At >= size || i > 0 && s.At <= starts[i-1].At {
			return false
		}
	}
	return len(starts) > 0 && starts[0] == place{}
}

func (k *Keeper) find(ctx context.Context, of *store.Result) (*store.Result, error) {
	db, err := k.db(ctx)
	switch {
	case err != nil:
		return nil, err
	case db == nil:
		return k.memory.find(of)
	}
	all, err := db.Results.Of(ctx, of)
	if err == nil && len(all) == 0 {
		err = noResult()
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// noResult is the error for every handle that is not one of the principal's, whatever the reason.
func noResult() error {
	return &hostfns.ArgumentError{Path: "/handle", Expected: "the handle of a result that is kept for you: it may have " +
		"ended, or made way for newer ones; run the program that made it again"}
}

// memory keeps results while the process lives.
type memory struct {
	mu  sync.Mutex
	all []*store.Result // the oldest first
}

// memoryBytes bounds the results of all owners in memory: the oldest make way.
const memoryBytes = 256 << 20

func (m *memory) keep(r *store.Result, chunks [][]byte, number int, bytes int64) (removed []string) {
	r.Created = time.Now()
	r.Chunk = func(_ context.Context, n int) ([]byte, error) {
		if n < 0 || n >= len(chunks) {
			return nil, errDamaged
		}
		return chunks[n], nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	left, room, all := number, bytes, int64(memoryBytes)
	var kept []*store.Result
	m.all = append(m.all, r)
	for i := len(m.all) - 1; i >= 0; i-- {
		one := m.all[i]
		all -= one.Bytes
		own := one.Owner == r.Owner
		if own {
			left, room = left-1, room-one.Bytes
		}
		switch {
		case one != r && own && (left < 0 || room < 0):
			removed = append(removed, one.Handle)
		case one == r || all >= 0:
			kept = append(kept, one)
		}
	}
	slices.Reverse(kept)
	m.all = kept
	return removed
}

// sweep removes what has ended. The caller holds the lock.
func (m *memory) sweep() {
	now := time.Now()
	m.all = slices.DeleteFunc(m.all, func(r *store.Result) bool { return !r.Expires.After(now) })
}

func (m *memory) find(of *store.Result) (*store.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	for _, r := range m.all {
		if r.Handle == of.Handle && r.Principal == of.Principal {
			return r, nil
		}
	}
	return nil, noResult()
}
