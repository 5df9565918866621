// Package pgtest starts PostgreSQL servers for tests: the real one, from the operating system's package, in a folder of
// the test. Only a socket in that folder reaches the server.
package pgtest

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	_ "github.com/codemode-project/codemode/store/postgres"
	_ "github.com/codemode-project/codemode/store/sqlite"
)

// Missing tells the reader of a skipped test what to do.
const Missing = "no PostgreSQL server is installed; on Debian: apt-get install postgresql"

// startWait is how long a server may take to answer, on a slow machine.
const startWait = 60 * time.Second

// A Server is a PostgreSQL server that belongs to a test.
type Server struct {
	t    testing.TB
	bin  string
	dir  string
	attr *syscall.SysProcAttr
	cmd  *exec.Cmd
	out  bytes.Buffer
}

// Start starts a server and stops it at the end of the test. It skips the test if PostgreSQL is not installed.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, bin: binaries()}
	if s.bin == "" {
		t.Skip(Missing)
	}
	// A socket's path may have 108 bytes, which test folders often exceed.
	dir, err := os.MkdirTemp("", "pg")
	checktest.OK(t, err)
	s.dir = dir
	t.Cleanup(func() {
		s.Stop()
		os.RemoveAll(dir)
	})
	s.unprivileged()
	s.run("initdb", "-D", s.data(), "-U", "codemode", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	s.Start()
	return s
}

// binaries finds the folder of the server's programs; "" if there is none.
func binaries() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(real)
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1])
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.attr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + s.dir}
	return cmd
}

func (s *Server) run(name string, args ...string) {
	s.t.Helper()
	if out, err := s.command(name, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// Start starts the server again after [Server.Stop].
func (s *Server) Start() {
	s.t.Helper()
	// No test cuts the power, so the system keeps what the server wrote; waiting for the disk took most of the time.
	s.cmd = s.command("postgres", "-D", s.data(), "-k", s.dir, "-h", "", "-c", "max_connections=60",
		"-c", "fsync=off", "-c", "full_page_writes=off")
	s.out.Reset()
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	checktest.OK(s.t, s.cmd.Start())
	for deadline := time.Now().Add(startWait); ; time.Sleep(20 * time.Millisecond) {
		if s.command("pg_isready", "-q", "-h", s.dir, "-U", "codemode", "-d", "postgres").Run() == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("PostgreSQL does not answer\n%s", s.out.String())
		}
	}
}

// Stop ends the server immediately, like a crash as seen by its clients. The server keeps what it acknowledged.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGQUIT)
	_ = s.cmd.Wait()
	s.cmd = nil
}

// URL returns the URL of a database of the server, and creates the database if it does not exist.
func (s *Server) URL(name string) string {
	s.t.Helper()
	if out, err := s.command("createdb", "-h", s.dir, "-U", "codemode", name).CombinedOutput(); err != nil &&
		!strings.Contains(string(out), "already exists") {
		s.t.Fatalf("createdb: %v\n%s", err, out)
	}
	return (&url.URL{Scheme: "postgres", User: url.User("codemode"), Path: "/" + name,
		RawQuery: url.Values{"host": {s.dir}, "sslmode": {"disable"}}.Encode()}).String()
}

// SQL runs statements as the owner, and returns what psql prints.
func (s *Server) SQL(name, statements string) (string, error) {
	return s.SQLAs("codemode", name, statements)
}

// SQLAs runs statements as a user.
func (s *Server) SQLAs(user, name, statements string) (string, error) {
	out, err := s.command("psql", "-h", s.dir, "-U", user, "-d", name, "-v", "ON_ERROR_STOP=1", "-Atq", "-c",
		statements).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// Dump returns the statements that make a database anew, with what it has.
func (s *Server) Dump(name string) string {
	s.t.Helper()
	out, err := s.command("pg_dump", "-h", s.dir, "-U", "codemode", "--no-owner", "--no-privileges", name).Output()
	if err != nil {
		s.t.Fatalf("pg_dump: %v", err)
	}
	return string(out)
}

// restriction is a line that newer versions of pg_dump write for psql, and older ones of psql do not know.
var restriction = regexp.MustCompile(`(?m)^\\(un)?restrict .*\n`)

// Load runs statements that [Server.Dump] returned, in a database without tables.
func (s *Server) Load(name, dump string) {
	s.t.Helper()
	cmd := s.command("psql", "-h", s.dir, "-U", "codemode", "-d", name, "-v", "ON_ERROR_STOP=1", "-q", "-f", "-")
	cmd.Stdin = strings.NewReader(restriction.ReplaceAllString(dump, ""))
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("psql: %v\n%s", err, out)
	}
}
