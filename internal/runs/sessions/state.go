package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/sandbox"
)

// A State is what the host knows of a version.
type State struct {
	V     int    `json:"v"`
	Note  string `json:"note,omitempty"` // where it came from, if no program made it
	Names []Name `json:"names"`          // what the next program can use; from the guest, so untrusted
	// Unlisted says that the names are unknown: the guest did not list them.
	Unlisted bool            `json:"unlisted,omitempty"`
	Gate     json.RawMessage `json:"gate,omitempty"` // what the Gate carries over to the next program with the heap
	// Refused is what the Gate carries over whatever the heap is: it belongs to the session and its forks.
	Refused json.RawMessage `json:"refused,omitempty"`
	Program *Program        `json:"program,omitempty"`
}

// A Name is what the next program can use, with its type.
type Name = sandbox.Name

// A Program made a version.
type Program struct {
	Number int    `json:"number"` // in its session, from 1, as in stacks
	Name   string `json:"name"`
	Code   string `json:"code"`
}

const stateVersion = 1

// Read reads the state of a version.
func Read(ctx context.Context, v *store.Version) (*State, error) {
	s := &State{}
	about, err := v.About(ctx)
	if err == nil {
		err = json.Unmarshal(about, s)
	}
	if err != nil {
		return nil, fmt.Errorf("reading version %d of a session: %w", v.Number, err)
	}
	if s.V != stateVersion {
		return nil, fmt.Errorf("version %d of the session was stored by another version of codemode: use that one, or delete "+
			"the session", v.Number)
	}
	return s, nil
}

// names are what the next program can use. known is false if the state does not tell.
func (s *State) names() (names []string, known bool) {
	for _, n := range s.Names {
		names = append(names, n.Name)
	}
	return names, !s.Unlisted
}

// stored returns bytes as a part of a new version.
func stored(b []byte) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return b, nil }
}

// ErrBusy is the error of a session in which a program goes on.
type ErrBusy struct {
	Name string
	Run  string
}

func (e *ErrBusy) Error() string {
	return fmt.Sprintf("a program goes on in the session %q (run %s): try again when it has ended, ask to wait for it, or "+
		"use another session", e.Name, cmp.Or(e.Run, "unknown"))
}

// Size is how many bytes the versions of a session have together.
func Size(s *store.Session) (n int64) {
	for _, v := range s.Versions {
		n += v.Bytes
	}
	return n
}

func current(s *store.Session) *store.Version {
	if len(s.Versions) == 0 {
		return nil
	}
	return s.Versions[len(s.Versions)-1]
}
