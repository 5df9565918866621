package sessions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// A Summary is a session in a list, for those who look at sessions: clients, the command line and the page.
type Summary struct {
	Name      string    `json:"name"`
	Principal string    `json:"principal"`
	Profile   string    `json:"profile"`
	Versions  int       `json:"versions"`
	Bytes     int64     `json:"bytes"` // of all versions
	Created   time.Time `json:"created"`
	Used      time.Time `json:"used"`
	Expires   time.Time `json:"expires"`
	Run       string    `json:"run,omitempty"` // that goes on in it
}

// Summarize returns the summary of a session.
func Summarize(s *store.Session) Summary {
	return Summary{s.Name, s.Principal, s.Profile, len(s.Versions), Size(s), s.Created, s.Used, s.Expires, s.Run}
}

// A Description is a session with its versions, and what one of them declares.
type Description struct {
	Summary
	Versions []DescribedVersion `json:"versions"` // the oldest first
	At       int64              `json:"at"`       // the version that declares Names; 0 is none
	Names    []Name             `json:"names"`    // from the guest, so untrusted
	Unlisted bool               `json:"unlisted,omitempty"`
}

// A DescribedVersion is one version of a session. Note says where it came from, or why that cannot be read.
type DescribedVersion struct {
	Version int64     `json:"version"`
	Created time.Time `json:"created"`
	Bytes   int64     `json:"bytes"`
	Run     string    `json:"run,omitempty"`
	Note    string    `json:"note,omitempty"` // may have the name of a program, so untrusted
}

// DescribeAt describes a session, and what its version of that number declares; 0 is the current one. If that version
// cannot be read, its names are unlisted, and its note says why.
func DescribeAt(ctx context.Context, s *store.Session, number int64) (*Description, error) {
	d := &Description{Summary: Summarize(s), Versions: []DescribedVersion{}, Names: []Name{}}
	if number != 0 || len(s.Versions) > 0 {
		v, err := VersionOf(s, number)
		if err != nil {
			return nil, err
		}
		d.At = v.Number
	}
	for _, v := range s.Versions {
		one := DescribedVersion{Version: v.Number, Created: v.Created, Bytes: v.Bytes, Run: v.Run}
		state, err := Read(ctx, v)
		switch {
		case err != nil:
			one.Note, state = err.Error(), &State{Unlisted: true}
		case state.Program != nil:
			one.Note = cmp.Or(state.Note, "left by "+state.Program.Name)
		default:
			one.Note = state.Note
		}
		d.Versions = append(d.Versions, one)
		if v.Number == d.At {
			d.Unlisted = state.Unlisted
			d.Names = append(d.Names, slices.DeleteFunc(state.Names, helper)...)
		}
	}
	return d, nil
}

// helper reports whether a name is a helper of the compiler.
func helper(n Name) bool { return strings.HasPrefix(n.Name, "__") }

// Describe says what a name is, in words such as "const rates: Map".
func Describe(n Name) string {
	return fmt.Sprintf("%s %s: %s", n.Kind, n.Name, cmp.Or(n.Class, n.Type))
}
