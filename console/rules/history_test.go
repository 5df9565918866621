package rules

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// history writes the changes of a shelf for comparison, newest first.
func (s *shelf) history() string {
	s.t.Helper()
	all, err := s.Changes(s.t.Context())
	must(s.t, err)
	var lines []string
	for _, c := range all {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%d %s %s +%d -%d %s", c.Number, c.How, c.Who, c.Added, c.Removed, c.Why)))
	}
	return strings.Join(lines, "\n")
}

func (s *shelf) want(what, want string) {
	s.t.Helper()
	if got := s.history(); got != want {
		s.t.Errorf("%s: the history is\n%s\nwant\n%s", what, got, want)
	}
}

// save writes a text as the page does.
func (s *shelf) save(text, who, why string) {
	s.t.Helper()
	must(s.t, s.Save(s.t.Context(), &Change{File: s.path, How: HowPage, Who: who, Why: why, Before: s.read(), After: text},
		func() error { return os.WriteFile(s.path, []byte(text), 0o600) }))
}

// latest is the latest change, with its texts.
func (s *shelf) latest() *Change {
	s.t.Helper()
	all, err := s.Changes(s.t.Context())
	must(s.t, err)
	c, err := s.Change(s.t.Context(), all[0].ID)
	must(s.t, err)
	return c
}

func TestTheHistoryHasEveryChange(t *testing.T) {
	s := newShelf(t)
	s.want("at first", "1 first  +0 -0")
	if _, err := s.latest().Undo(s.read()); err == nil {
		t.Error("the beginning can be undone")
	}
	s.save("{}\n// two\n", "anna", "a reason")
	s.want("saved", "2 page anna +2 -24 a reason\n1 first  +0 -0")
	c := s.latest()
	if c.Before != text || c.After != "{}\n// two\n" || len(c.Lines()) != 27 || time.Since(c.Time) > time.Minute {
		t.Errorf("%+v", c)
	}
	// While a change of the page settles, another process may see the file as it was before.
	s.write("{}\n// three\n")
	s.want("just after", "2 page anna +2 -24 a reason\n1 first  +0 -0")
	if _, err := c.Undo(s.read()); err == nil || !strings.Contains(err.Error(), "changed again") {
		t.Errorf("undoing what is not there any more: %v", err)
	}
	s.write(c.After)
	if back, err := c.Undo(s.read()); err != nil || back != text {
		t.Errorf("undoing: %q, %v", back, err)
	}
}

func TestAnEditOfTheFileIsInTheHistory(t *testing.T) {
	s := newShelf(t)
	s.history()
	s.write("{}\n")
	s.want("written with an editor", "2 file  +1 -24\n1 first  +0 -0")
	s.want("looked at again", "2 file  +1 -24\n1 first  +0 -0")
	if back, err := s.latest().Undo(s.read()); err != nil || back != text {
		t.Errorf("undoing: %q, %v", back, err)
	}
	// A change of the page after an edit that nobody had noticed: both are there.
	s.write("{}\n\n")
	s.save("{} // ours\n", "anna", "ours")
	s.want("both", "4 page anna +1 -2 ours\n3 file  +1 -0\n2 file  +1 -24\n1 first  +0 -0")
	must(t, os.Remove(s.path))
	if err := s.Save(t.Context(), &Change{File: s.path, How: HowPage, Who: "anna", Why: "x", After: "x"},
		func() error { return errors.New("the disk is full") }); err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("a change that fails: %v", err)
	}
	s.want("a change that failed", "4 page anna +1 -2 ours\n3 file  +1 -0\n2 file  +1 -24\n1 first  +0 -0")
	for _, why := range []string{"", " \n", strings.Repeat("x", mostWhy+1)} {
		if err := s.Save(t.Context(), &Change{File: s.path, Why: why}, func() error {
			t.Error("it is made without its reason")
			return nil
		}); err == nil {
			t.Errorf("a reason of %d bytes", len(why))
		}
	}
}

func TestAFileThatIsRemovedAndComesBack(t *testing.T) {
	s := newShelf(t)
	s.history()
	must(t, os.Remove(s.path))
	s.want("removed", "2 file  +0 -24\n1 first  +0 -0")
	c := s.latest()
	if _, err := c.Undo(""); err == nil || !c.Gone {
		t.Errorf("a removal is undone: %v", err)
	}
	s.want("still removed", "2 file  +0 -24\n1 first  +0 -0")
	s.write(text)
	s.want("back", "3 file  +24 -0\n2 file  +0 -24\n1 first  +0 -0")
}

// Texts beyond the bound are not kept, and the change says so.
func TestTheHistoryIsBounded(t *testing.T) {
	s := newShelf(t)
	s.history()
	large := "{}\n//" + strings.Repeat("x", keptBytes) + "\n"
	s.write(large)
	c := s.latest()
	if c.Kept || c.Before != "" || c.How != HowFile {
		t.Errorf("kept %t, %s", c.Kept, c.How)
	}
	if _, err := c.Undo(large); err == nil || !strings.Contains(err.Error(), "were not kept") {
		t.Errorf("undoing: %v", err)
	}
	for i := range keptChanges + 3 {
		s.write(fmt.Sprintf("{} // %d\n", i))
		must(t, s.Look(t.Context()))
	}
	all, err := s.Changes(t.Context())
	must(t, err)
	if len(all) != keptChanges || all[0].Number != keptChanges+5 {
		t.Errorf("%d changes, the latest is %d", len(all), all[0].Number)
	}
	if c, err := s.Change(t.Context(), "nothing-1"); c != nil || err != nil {
		t.Errorf("a change that is not there: %+v, %v", c, err)
	}
	if strings.Contains(all[0].ID, "json") || strings.Contains(all[0].ID, "/") {
		t.Errorf("the id %q tells of the path", all[0].ID)
	}
}

// Two processes that share a store notice one change once.
func TestTwoProcessesNoticeAChangeOnce(t *testing.T) {
	s := newShelf(t)
	s.history()
	other := &Book{Rules: s.Rules, Files: s.Files, Tools: s.Tools, Past: s.Past, DB: s.DB}
	s.write("{}\n")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := []*Book{s.Book, other}[i%2].Look(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.want("noticed", "2 file  +1 -24\n1 first  +0 -0")
}

func TestDiff(t *testing.T) {
	show := func(lines []Line) string {
		var b strings.Builder
		for _, l := range lines {
			fmt.Fprintf(&b, "%d %d %s%s\n", l.Old, l.New, l.Sign, l.Text)
		}
		return b.String()
	}
	for _, test := range []struct {
		before, after string
		around        int
		want          string
	}{
		{"a", "a", 2, ""},
		{"a\nb\nc\nd", "a\nc\nd\ne", 0, "2 0 -b\n0 4 +e\n"},
		{"a\nb\nc\nd\ne\nf", "a\nB\nc\nd\nE\nf", 1, "1 1  a\n2 0 -b\n0 2 +B\n3 3  c\n4 4  d\n5 0 -e\n0 5 +E\n6 6  f\n"},
		{"a\nb", "b", -1, "1 0 -a\n2 1  b\n"},
		{"x", "", 3, "1 0 -x\n0 1 +\n"},
	} {
		if got := show(Diff(test.before, test.after, test.around)); got != test.want {
			t.Errorf("%q %q: got\n%s\nwant\n%s", test.before, test.after, got, test.want)
		}
	}
	// Beyond the bound everything between counts as changed; what is shown still makes the new text of the old one.
	long := strings.Repeat("line\nother\n", mostCompared)
	for _, after := range []string{"first\n" + long, long[:len(long)/2] + "middle\n" + long[len(long)/2:], "all\nnew"} {
		var old, now []string
		for _, l := range Diff(long, after, -1) {
			if l.Sign != "+" {
				old = append(old, l.Text)
			}
			if l.Sign != "-" {
				now = append(now, l.Text)
			}
		}
		if strings.Join(old, "\n") != long || strings.Join(now, "\n") != after {
			t.Error("the lines are not those of the texts")
		}
	}
}
