package store_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/store/storetest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// patience is more than anything here takes on a slow machine.
const patience = 2 * time.Minute

func silent(err error) bool {
	known, ok := errors.AsType[reasoned](err)
	return ok && known.Reason() == "the record did not answer in time"
}

// Who uses a database that does not answer is told so before long, and who uses it a hundred times does not wait a
// hundred times. When it answers again, it is used again.
func TestADatabaseThatDoesNotAnswerIsWaitedForOnce(t *testing.T) {
	server := pgtest.Start(t)
	d := open(t, store.Options{URL: server.URL("silent")})
	storetest.Approved(t, d, "a_1")
	server.Freeze()
	t.Cleanup(server.Thaw)
	ended := make(chan error, 1)
	go func() {
		for range 100 {
			if _, err := d.Approvals.Get(context.Background(), "a_1"); !silent(err) {
				ended <- err
				return
			}
			if err := d.Approvals.Withdraw(context.Background(), "a_1"); !silent(err) {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("got %v, want that it did not answer in time", err)
		}
	case <-time.After(patience): // all of them one after the other would take five times as long
		t.Error("each use waits anew")
	}
	server.Thaw()
	testwait.Until(t, "the database is used again", func() bool {
		_, err := d.Approvals.Get(t.Context(), "a_1")
		return err == nil
	})
}

// PostgreSQL performs a statement that it has received, also when whoever sent it gave up long before. When
// [store.Chain.Check] has said that rows are not there, they do not come any more: what they announced was refused
// meanwhile.
func TestALateAppendIsVoid(t *testing.T) {
	server := pgtest.Start(t)
	d := open(t, store.Options{URL: server.URL("late")})
	c, err := d.Entries.Claim(t.Context(), nil)
	checktest.OK(t, err)
	defer c.Release(t.Context())
	add := func(ctx context.Context, tool string) ([]store.Row, error) {
		rows := []store.Row{storetest.Row(c.Head(), 1, func(r *store.Row) { r.Tool = tool })}
		return rows, c.Append(ctx, rows, rows[0].Seq+1)
	}
	if _, err := add(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	backends := func() []int {
		out, err := server.SQL("late", `SELECT pid FROM pg_stat_activity WHERE application_name = 'codemode'`)
		checktest.OK(t, err)
		var pids []int
		for _, line := range strings.Fields(out) {
			pid, err := strconv.Atoi(line)
			checktest.OK(t, err)
			pids = append(pids, pid)
		}
		return pids
	}
	stopped := backends()
	signal := func(sig syscall.Signal) {
		for _, pid := range stopped {
			_ = syscall.Kill(pid, sig) // one that ended meanwhile
		}
	}
	defer signal(syscall.SIGCONT)
	signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	rows, err := add(ctx, "refused")
	cancel()
	if err == nil {
		t.Fatal("it was appended on a connection that does not answer")
	}
	testwait.Until(t, "it is known whether the rows are there", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		there, err := c.Check(ctx, rows)
		if there {
			t.Fatal("the rows are there")
		}
		return err == nil
	})
	signal(syscall.SIGCONT)
	testwait.Until(t, "the connections that did not answer are over", func() bool {
		for _, pid := range backends() {
			for _, was := range stopped {
				if pid == was {
					return false
				}
			}
		}
		return true
	})
	if _, err := add(t.Context(), "second"); err != nil {
		t.Errorf("appending afterwards: %v", err)
	}
	out, err := server.SQL("late", `SELECT string_agg(tool, ' ' ORDER BY seq) FROM entries`)
	if err != nil || out != "first second" {
		t.Errorf("the record has %q, want first and second (%v)", out, err)
	}
}
