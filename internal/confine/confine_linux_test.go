package confine_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/confine"
)

// tryVariable has the test binary try something, and print how that went.
const tryVariable = "CODEMODE_TEST_TRY"

func TestMain(m *testing.M) {
	if code, ok := confine.Main(os.Args, os.Environ(), os.Stderr); ok {
		os.Exit(code)
	}
	if what, ok := os.LookupEnv(tryVariable); ok {
		fmt.Print(try(strings.Fields(what)))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// try does one thing and returns "ok", or what the system says.
func try(words []string) string {
	var err error
	arg := ""
	if len(words) > 1 {
		arg = words[1]
	}
	number, _ := strconv.Atoi(arg)
	switch words[0] {
	case "read":
		_, err = os.ReadFile(arg)
	case "list":
		_, err = os.ReadDir(arg)
	case "write":
		err = os.WriteFile(arg, []byte("x"), 0o600)
	case "remove":
		err = os.Remove(arg)
	case "move":
		err = os.Rename(arg, words[2])
	case "run":
		err = exec.Command(arg).Run()
	case "connect":
		_, err = net.Dial(arg, words[2])
	case "listen":
		_, err = net.Listen(arg, words[2])
	case "signal":
		err = syscall.Kill(number, 0)
	case "parent":
		err = syscall.Kill(os.Getppid(), 0)
	case "socket":
		protocol, _ := strconv.Atoi(words[3])
		kind, _ := strconv.Atoi(words[2])
		_, err = unix.Socket(number, kind, protocol)
	case "pair":
		_, err = unix.Socketpair(unix.AF_UNIX, number, 0)
	case "io_uring":
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
		if errno != unix.EACCES {
			return "ok" // the call went through to the kernel, which finds its arguments wrong
		}
		err = errno
	case "privileges":
		status, e := os.ReadFile("/proc/self/status")
		if strings.Contains(string(status), "CapEff:\t0000000000000000") &&
			strings.Contains(string(status), "NoNewPrivs:\t1") {
			return "none"
		}
		return fmt.Sprint(e, string(status))
	}
	switch {
	case err == nil:
		return "ok"
	case strings.Contains(err.Error(), "permission denied"):
		return "permission denied"
	}
	return err.Error()
}

// inside tries something in a process with these rules.
func inside(t *testing.T, r confine.Rules, what string) string {
	t.Helper()
	self, err := os.Executable()
	checktest.OK(t, err)
	r.Read = append([]string{self, "/usr", "/etc/ld.so.cache"}, r.Read...)
	command := r.Command(self, self, nil, os.Getpid())
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{tryVariable + "=" + what}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprint(err, " ", string(out))
	}
	return string(out)
}

func needLandlock(t *testing.T) {
	t.Helper()
	if missing := confine.Missing(); len(missing) > 0 {
		t.Skip("this kernel cannot confine: ", missing)
	}
}

func TestRules(t *testing.T) {
	needLandlock(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	checktest.OK(t, err)
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"secret/key": "s", "notes/a": "a", "data/b": "b"} {
		checktest.OK(t, os.MkdirAll(filepath.Dir(at(name)), 0o700))
		checktest.OK(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	checktest.OK(t, os.Symlink(at("secret"), at("data/link")))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	checktest.OK(t, err)
	defer listener.Close()
	port := uint16(listener.Addr().(*net.TCPAddr).Port)
	socket, err := net.Listen("unix", at("socket"))
	checktest.OK(t, err)
	defer socket.Close()
	abstract, err := net.Listen("unix", "@codemode-test-"+strconv.Itoa(os.Getpid()))
	checktest.OK(t, err)
	defer abstract.Close()
	const no = "permission denied"
	files := confine.Rules{Read: []string{at("notes")}, Write: []string{at("data"), "/dev/null"}}
	internet := confine.Rules{Connect: confine.Ports{Any: true}, Listen: confine.Ports{Any: true}}
	one := confine.Rules{Connect: confine.Ports{Only: []uint16{port}}}
	unixes := confine.Rules{Unix: true}
	tcp := "connect tcp " + listener.Addr().String()
	for _, tt := range []struct {
		rules      confine.Rules
		what, want string
	}{
		{files, "read " + at("notes/a"), "ok"},
		{files, "list " + at("notes"), "ok"},
		{files, "write " + at("notes/a"), no},
		{files, "remove " + at("notes/a"), no},
		{files, "read " + at("secret/key"), no},
		{files, "list " + at("secret"), no},
		{files, "list /", no},
		{files, "read " + at("data/link/key"), no},
		{files, "read " + at("data/b"), "ok"},
		{files, "write " + at("data/c"), "ok"},
		{files, "write /dev/null", "ok"},
		{files, "move " + at("data/c") + " " + at("data/d"), "ok"},
		{files, "move " + at("data/d") + " " + at("notes/d"), no},
		{files, "remove " + at("data/d"), "ok"},
		{files, "write " + at("new"), no},
		{files, "run /usr/bin/true", "ok"},
		{confine.Rules{}, "read " + at("notes/a"), no},
		{confine.Rules{}, "write " + at("data/c"), no},
		{confine.Rules{Read: []string{at("missing"), at("notes")}}, "read " + at("notes/a"), "ok"},
		{confine.Rules{Read: []string{at("data/link")}}, "read " + at("secret/key"),
			"exit status 126 codemode: cannot run"},

		{confine.Rules{}, tcp, no},
		{internet, tcp, "ok"},
		{one, tcp, "ok"},
		{one, "connect tcp 127.0.0.1:1", no},
		{internet, "connect tcp 127.0.0.1:1", "dial tcp 127.0.0.1:1: connect: connection refused"},
		{one, "listen tcp 127.0.0.1:0", no},
		{internet, "listen tcp 127.0.0.1:0", "ok"},
		{confine.Rules{}, "connect udp 127.0.0.1:53", no},
		{one, "connect udp 127.0.0.1:53", "ok"},
		{internet, fmt.Sprintf("socket %d %d %d", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP), no},
		{internet, fmt.Sprintf("socket %d %d 0", unix.AF_INET, unix.SOCK_SEQPACKET), no},
		{internet, fmt.Sprintf("socket %d %d 1", unix.AF_INET, unix.SOCK_RAW), no},
		{internet, fmt.Sprintf("socket %d %d 0", unix.AF_VSOCK, unix.SOCK_STREAM), no},
		{internet, fmt.Sprintf("socket %d %d 0", unix.AF_PACKET, unix.SOCK_RAW), no},
		{confine.Rules{}, fmt.Sprintf("socket %d %d 0", unix.AF_NETLINK, unix.SOCK_RAW), "ok"},
		{confine.Rules{}, fmt.Sprintf("socket %d %d 9", unix.AF_NETLINK, unix.SOCK_RAW), no},

		{internet, "connect unix " + at("socket"), no},
		{unixes, "connect unix " + at("socket"), "ok"},
		{unixes, tcp, no},
		{unixes, "connect unix " + abstract.Addr().String(), "dial unix " + abstract.Addr().String() +
			": connect: operation not permitted"},
		{confine.Rules{}, fmt.Sprintf("pair %d", unix.SOCK_STREAM), "ok"},
		{confine.Rules{}, fmt.Sprintf("pair %d", unix.SOCK_DGRAM), no},
		{unixes, fmt.Sprintf("pair %d", unix.SOCK_DGRAM), "ok"},
		{unixes.And(internet), "io_uring", no},

		{unixes.And(internet), "parent", "operation not permitted"},
		{confine.Rules{Read: []string{"/proc"}}, "read " + fmt.Sprintf("/proc/%d/environ", os.Getpid()), no},
		{confine.Rules{Read: []string{"/proc"}}, "read " + fmt.Sprintf("/proc/%d/stat", os.Getpid()), "ok"},
		{confine.Rules{Read: []string{"/proc"}}, "privileges", "none"},
	} {
		if got := inside(t, tt.rules, tt.what); !strings.HasPrefix(got, tt.want) || tt.want == "ok" && got != "ok" {
			t.Errorf("%+v\n%s: got %q, want %q", tt.rules, tt.what, got, tt.want)
		}
	}
}

// A program with fewer rights may start another one with its own, and no more.
func TestRulesAddUp(t *testing.T) {
	needLandlock(t)
	self, err := os.Executable()
	checktest.OK(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	checktest.OK(t, err)
	secret := filepath.Join(dir, "secret")
	checktest.OK(t, os.WriteFile(secret, []byte("s"), 0o600))
	base := confine.Rules{Read: []string{self, "/usr/lib", "/etc/ld.so.cache"}}
	more := base.And(confine.Rules{Read: []string{dir}, Unix: true, Connect: confine.Ports{Any: true}})
	second := more.Command(self, self, nil, 0)
	first := base.Command(self, second[0], second[1:], 0)
	for what, want := range map[string]string{
		"read " + secret: "permission denied", "socket 1 1 0": "permission denied", "socket 2 1 0": "permission denied",
	} {
		cmd := exec.Command(first[0], first[1:]...)
		cmd.Env = []string{tryVariable + "=" + what}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s: got %q, %v", what, out, err)
		}
	}
}

// TestAConfinedProgramDiesWithItsParent: the helper executes from a thread of its own, and the kernel knows the signal
// of each thread.
func TestAConfinedProgramDiesWithItsParent(t *testing.T) {
	needLandlock(t)
	self, err := os.Executable()
	checktest.OK(t, err)
	r := confine.Rules{Read: []string{"/usr", self, "/etc/ld.so.cache"}}
	// The shell is the parent: it names itself, and ends while the program sleeps.
	command := r.Command(self, "/usr/bin/sleep", []string{"60"}, 4711)
	for i, word := range command {
		command[i] = "'" + strings.ReplaceAll(word, "4711", `'$$'`) + "'"
	}
	cmd := exec.Command("sh", "-c", strings.Join(command, " ")+" >/dev/null 2>&1 & echo $!; sleep 1")
	out, err := cmd.Output()
	checktest.OK(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	checktest.OK(t, err)
	for range 200 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 10_000_000}, nil)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Error("it outlived its parent")
}
