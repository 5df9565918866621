//go:build linux || darwin || freebsd

package terminal

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// socketDir is a private folder with a short path.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cm")
	checktest.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// respond connects to the one socket in dir.
func respond(t *testing.T, dir string) *Responder {
	t.Helper()
	all := Sockets(dir)
	if len(all) != 1 {
		t.Fatalf("%d sockets", len(all))
	}
	r, err := Respond(t.Context(), all[0])
	checktest.OK(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// next waits for what is told of that kind and satisfies ok.
func (r *Responder) next(t *testing.T, kind string, ok func(*Told) bool) *Told {
	t.Helper()
	checktest.OK(t, r.conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	for {
		told, err := r.Next()
		checktest.OK(t, err)
		if told.Kind == kind && (ok == nil || ok(told)) {
			return told
		}
	}
}

// S3.7: questions and answers over the socket, with what a person needs to judge, and what is said when it does not
// count.
func TestResponderOverASocket(t *testing.T) {
	dir := socketDir(t)
	q := approvals.NewQueue("responder")
	l, err := Listen(dir, q, "local:anna", nil)
	checktest.OK(t, err)
	defer l.Close()
	person := respond(t, dir)
	var d approvals.Desk
	r := write("/data/a")
	r.Risk, r.Code = call.High, "7f3a"
	r.Args = json.RawMessage(`{"path":"/data/a","content":"` + strings.Repeat("x", 30000) + `","token":"abcdefgh"}`)
	answer := asking(t.Context(), &d, q, r)
	one := func(told *Told) bool { return len(told.Calls) == 1 }
	call := person.next(t, "pending", one).Calls[0]
	if call.Tool != "fs.write" || call.Code != "7f3a" || !call.Cut || !call.MustSee ||
		strings.Contains(call.Text, "abcdefgh") || call.Args != nil || len(call.Offers) != 1 {
		t.Errorf("got %+v", call)
	}
	checkInert(t, call.Text+call.Summary)
	say := func(s Said, want string) *Told {
		t.Helper()
		checktest.OK(t, person.Say(s))
		kind := map[string]string{"answer": "answered", "show": "shown"}[s.Kind]
		told := person.next(t, kind, nil)
		if want == "" && told.Error != "" || !strings.Contains(told.Error, want) {
			t.Errorf("%+v: got %q, want %q", s, told.Error, want)
		}
		return told
	}
	yes := Said{Kind: "answer", ID: call.ID, Digest: call.Digest, Yes: true, Code: "7f3a"}
	say(yes, "seen whole")
	say(Said{Kind: "show", ID: "q_none"}, "not open")
	if whole := say(Said{Kind: "show", ID: call.ID}, ""); !strings.Contains(whole.View.Text(), "abcdefgh") {
		t.Error("it is not shown whole")
	}
	wrong := yes
	wrong.Code = "0000"
	say(wrong, "code")
	say(yes, "")
	if a := <-answer; !a.Allowed || a.By != "local:anna" || a.Channel != "responder" {
		t.Errorf("got %+v", a)
	}
	say(yes, "not open")
	if err := person.Say(Said{Kind: "width", Width: 100}); err != nil { // which is answered with what is pending
		t.Fatal(err)
	}
	person.next(t, "pending", func(told *Told) bool { return len(told.Calls) == 0 })

	// What is not understood ends the connection, and the seat with it.
	checktest.OK(t, person.Say(Said{Kind: "approve everything"}))
	for err == nil {
		_, err = person.Next()
	}
	testwait.Until(t, "the seat is given up", func() bool { return q.Present() == 0 || len(Sockets(dir)) != 1 })
	if a := <-asking(t.Context(), &d, q, write("/a")); a.Code != "no_approver" {
		t.Errorf("with nobody there: %+v", a)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if all := Sockets(dir); len(all) != 0 {
		t.Errorf("sockets are left: %v", all)
	}
}

// A29: a folder that others can enter, that is a link or that is a file is refused, and so is such a socket.
func TestA29UnsafePlacesAreRefused(t *testing.T) {
	base := socketDir(t)
	q := approvals.NewQueue("responder")
	listen := func(dir string) error {
		l, err := Listen(dir, q, "x", nil)
		if err == nil {
			l.Close()
		}
		return err
	}
	open := filepath.Join(base, "open")
	checktest.OK(t, os.Mkdir(open, 0o700))
	link, file := filepath.Join(base, "link"), filepath.Join(base, "file")
	checktest.OK(t, errors.Join(os.Symlink(open, link), os.WriteFile(file, nil, 0o600)))
	if err := listen(filepath.Join(base, "new")); err != nil {
		t.Errorf("a folder of our own: %v", err)
	}
	if err := listen(link); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a link: %v", err)
	}
	if err := listen(file); err == nil {
		t.Error("a file is taken for a folder")
	}
	for _, mode := range []os.FileMode{0o777, 0o755, 0o710, 0o701} {
		checktest.OK(t, os.Chmod(open, mode))
		if err := listen(open); !errors.Is(err, ErrUnsafe) {
			t.Errorf("%v: %v", mode, err)
		}
	}
	if err := listen(filepath.Join(base, strings.Repeat("x", 100))); err == nil ||
		!strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("a path that is too long: %v", err)
	}

	// On the other side: a socket that others can reach, in a folder that they cannot or can.
	dir := filepath.Join(base, "new")
	path := filepath.Join(dir, "x"+socketSuffix)
	l, err := net.Listen("unix", path)
	checktest.OK(t, err)
	defer l.Close()
	checktest.OK(t, os.Chmod(path, 0o666))
	if _, err := Respond(t.Context(), path); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a socket that others can reach: %v", err)
	}
	checktest.OK(t, errors.Join(os.Chmod(path, 0o600), os.Chmod(dir, 0o755)))
	if _, err := Respond(t.Context(), path); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a folder that others can enter: %v", err)
	}
}

// What a process left behind when it was killed is swept away, and what another one listens at is not.
func TestDeadSocketsAreSwept(t *testing.T) {
	dir := socketDir(t)
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "dead"+socketSuffix), Net: "unix"})
	checktest.OK(t, err)
	dead.SetUnlinkOnClose(false)
	checktest.OK(t, dead.Close())
	first, err := Listen(dir, approvals.NewQueue("responder"), "x", nil)
	checktest.OK(t, err)
	defer first.Close()
	second, err := Listen(dir, approvals.NewQueue("responder"), "x", nil)
	checktest.OK(t, err)
	defer second.Close()
	if all := Sockets(dir); len(all) != 2 {
		t.Errorf("got %v, want those of the two that listen", all)
	}
}
