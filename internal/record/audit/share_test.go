package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A shareTest is a record with a share and a clock that stands.
type shareTest struct {
	*testing.T
	r     *Record
	end   func() []*Entry
	clock atomic.Int64 // seconds
}

func withShare(t *testing.T, share int64) *shareTest {
	s := &shareTest{T: t}
	s.clock.Store(1_800_000_000)
	s.r, _, s.end = keptAt(t, func(o *Options) {
		o.Share, o.Now = share, func() time.Time { return time.Unix(s.clock.Load(), 0) }
	})
	return s
}

// call records a call of an owner with its outcome, which has padding, and reports whether it may be made.
func (s *shareTest) call(owner string, padding int) bool {
	s.Helper()
	e := call.Entry{Kind: Call, State: Running, Run: "r_" + owner, Call: 1, Principal: owner, Owner: owner}
	if err := s.r.Write(s.Context(), e); err != nil {
		var full *ShareError
		if wait := time.Duration(0); !errors.As(err, &full) || full.Owner != owner {
			s.Fatal(err)
		} else if wait = full.Until.Sub(time.Unix(s.clock.Load(), 0)); wait < time.Second || wait > 2*time.Hour {
			s.Errorf("there is room again in %v", wait)
		}
		return false
	}
	e.State, e.Result = OK, &call.EntryResult{Raw: json.RawMessage(`{"token":"` + strings.Repeat("x", padding) + `"}`)}
	check(s.T, s.r.Add(s.Context(), e))
	return true
}

// calls makes calls until one is refused, and returns how many were not.
func (s *shareTest) calls(owner string, padding int) (n int) {
	s.Helper()
	for n = 0; s.call(owner, padding); n++ {
		if n == 10_000 {
			s.Fatal("no end of calls")
		}
	}
	return n
}

// What one owner makes the record write is bounded, and takes nothing from another owner.
func TestP39_9AShareBoundsTheRecord(t *testing.T) {
	const share = 1 << 20
	s := withShare(t, share)
	if s.calls("anna", 50_000) < 20 {
		t.Error("the share of anna is too small")
	}
	for range 3 {
		if !s.call("bert", 50_000) || s.call("anna", 0) {
			t.Fatal("the share of anna is that of bert")
		}
	}
	check(t, s.r.Add(t.Context(), call.Entry{Kind: Run, State: OK, Run: "r_anna", Owner: "anna"})) // how something ended
	bytes, lean, ends, alarms := 0, 0, 0, 0
	for _, e := range s.end() {
		switch {
		case e.Kind == Notice && e.State == "share":
			if alarms++; e.Principal != "anna" || !strings.Contains(e.Detail, "raise store.share") {
				t.Errorf("the alarm is %s", e.Line())
			}
		case e.Run == "r_anna":
			bytes += len(e.Line()) + len(e.sealed)
			if e.Lean {
				lean++
				if e.sealed != "" || e.Result.Redacted != nil || e.Result.Bytes < 50_000 || e.Result.Digest == "" {
					t.Errorf("a lean entry is %s", e.Line())
				}
			}
			if e.Kind == Run {
				ends++
			}
		case e.Lean:
			t.Errorf("an entry of bert is lean: %s", e.Line())
		}
	}
	if bytes > share || bytes < share/2 || lean == 0 || ends != 1 || alarms != 1 {
		t.Errorf("%d bytes of %d, %d lean entries, %d ends, %d alarms", bytes, share, lean, ends, alarms)
	}
}

// What the share counts is what the file grows by, however well entries fill its pages.
func TestP39_9TheFileGrowsByTheShareAtMost(t *testing.T) {
	for _, padding := range []int{0, 500, 2_200, 3_000, 4_000, 9_000, 50_000} {
		r, path, end := keptAt(t, func(o *Options) { o.Share = 1 << 30 })
		var counted float64
		for range 1000 {
			for range 50 {
				check(t, r.Add(t.Context(), call.Entry{Kind: Call, State: OK, Run: "r_anna", Owner: "anna",
					Result: &call.EntryResult{Raw: json.RawMessage(`"` + strings.Repeat("x y ", padding/4) + `"`)}}))
			}
			check(t, r.Flush(t.Context()))
			r.share.mu.Lock()
			counted = r.share.owners["anna"].used
			r.share.mu.Unlock()
			if counted > 8<<20 {
				break
			}
		}
		end()
		file, err := os.Stat(path)
		check(t, err)
		if grown := float64(file.Size()); grown > counted*1.1 || grown < counted/2 {
			t.Errorf("with a padding of %d the file has %.0f bytes, and %.0f count", padding, grown, counted)
		}
	}
}

// Room comes back with the time, and no moment has two shares.
func TestP39_9ShareComesBack(t *testing.T) {
	s := withShare(t, 1<<20)
	all := s.calls("anna", 0)
	for _, test := range []struct {
		after    time.Duration
		from, to int
	}{
		{59 * time.Second, 0, 0}, {20 * time.Second, 1, all / 20}, {30 * time.Minute, all*4/10 + 1, all * 6 / 10},
		{10 * time.Hour, all - 1, all + 1},
	} {
		s.clock.Add(int64(test.after.Seconds()))
		if n := s.calls("anna", 0); n < test.from || n > test.to {
			t.Errorf("%d calls fit after %v more, want %d to %d", n, test.after, test.from, test.to)
		}
	}
	alarms := 0
	for _, e := range s.end() {
		if e.State == "share" {
			alarms++
		}
	}
	if alarms != 2 { // one in the first hour, and one ten hours later
		t.Errorf("%d alarms", alarms)
	}
}

// Beyond the share, refusals are counted, also those of runs that never began, and nothing else is.
func TestP39_9RefusalsBeyondTheShareAreCounted(t *testing.T) {
	s := withShare(t, 1<<20)
	s.calls("anna", 0)
	refuse := func(owner string) {
		for range 1000 {
			for _, kind := range []string{Run, Call} {
				check(t, s.r.Add(t.Context(), call.Entry{Kind: kind, State: Refused, Run: "r_" + owner, Owner: owner,
					Unbegun: true, Program: &call.EntryProgram{Text: strings.Repeat("x", 10_000)}}))
			}
		}
	}
	refuse("anna")
	check(t, s.r.Add(t.Context(), call.Entry{Kind: Run, State: Refused, Run: "r_anna", Owner: "anna",
		Detail: "it had begun"}))
	s.clock.Add(3601)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) { // the writer counts by itself
		if s.r.share.mu.Lock(); s.r.share.since.IsZero() || time.Now().After(deadline) {
			s.r.share.mu.Unlock()
			break
		}
		s.r.share.mu.Unlock()
		check(t, s.r.Flush(t.Context()))
	}
	s.calls("anna", 0)
	refuse("anna")
	var counts []string
	written := 0
	for _, e := range s.end() {
		switch {
		case e.State == "left out":
			counts = append(counts, fmt.Sprint(e.Principal, e.Count, e.Tools))
		case e.State == Refused:
			written++
		}
	}
	want := "anna2000 map[call refused:1000 run refused:1000]"
	if got := strings.Join(counts, " "); got != want+" "+want || written != 1 {
		t.Errorf("counted %s; %d refusals are written", got, written)
	}
}

// Owners beyond the number that the record can tell apart have one share, and so do those whom nobody verified.
func TestP39_9NobodyGetsAShareByANewName(t *testing.T) {
	s := withShare(t, 1<<20)
	s.calls("", 0)
	if err := s.r.Full(""); err == nil || !strings.Contains(err.Error(), "nobody verified") {
		t.Error(err)
	}
	s.r.share.mu.Lock()
	for i := range 2 * maxOwners {
		if u := s.r.share.of(fmt.Sprint(i), time.Unix(s.clock.Load(), 0)); u != s.r.share.owners[""] {
			u.used = 1
		}
	}
	if n := len(s.r.share.owners); n > maxOwners {
		t.Errorf("the record knows %d owners", n)
	}
	s.r.share.mu.Unlock()
	if s.call("one more", 0) {
		t.Error("one more has a share of its own")
	}
	s.clock.Add(3600)
	if !s.call("one more", 0) {
		t.Error("owners that wrote nothing for an hour keep their places")
	}
	s.end()
}
