package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A wayOut is what a hostile server tries, and the answer that it has to get.
type wayOut struct{ what, want string }

// A hostile server finds no way around its rules: neither another name of a file, nor another process, nor a namespace
// where it would be root. What starts in it has no more rights.
func TestConfinedServersFindNoWayAround(t *testing.T) {
	t.Parallel()
	h := newConfinedHouse(t)
	secret, given := filepath.Join(h.home, ".ssh", "id"), filepath.Join(h.dir, "given")
	for _, name := range []string{"sub", "empty"} {
		checktest.OK(t, os.MkdirAll(filepath.Join(given, name), 0o700))
	}
	write(t, given+"/b", "b")
	write(t, given+"/tool.sh", "")                                                // a program, whose folder the server reads
	if err := os.Symlink(secret, filepath.Join(h.files, "planted")); err != nil { // by somebody else
		t.Fatal(err)
	}
	unixSocket, err := net.Listen("unix", filepath.Join(h.files, "socket"))
	checktest.OK(t, err)
	defer unixSocket.Close()
	abstract, err := net.Listen("unix", "@codemode-test-way-"+strconv.Itoa(os.Getpid()))
	checktest.OK(t, err)
	defer abstract.Close()
	h.configure(nil, map[string]map[string]any{
		"plain": {"args": []string{h.files, given + "/tool.sh"}},
	})
	h.serve("--confine")
	const no, done = "permission denied", "done"
	const elsewhere = "invalid cross-device link" // Landlock's word for a folder with other rights
	ways := []wayOut{
		{"list " + h.files, done}, {"list " + given, done}, {"list " + h.home, no}, {"list " + h.state, no}, {"list /", no},
		{"list /root", no}, {"list " + filepath.Dir(h.config), no},
		{"write " + given + "/b", no}, {"truncate " + given + "/b", no}, {"remove " + given + "/b", no},
		{"remove " + given + "/empty", no}, {"truncate " + h.config, no}, {"remove " + h.config, no},
		{"write " + h.files + "/x", done}, {"truncate " + h.files + "/x", done},
		{"rename " + h.files + "/x " + h.files + "/y", done}, {"remove " + h.files + "/y", done},
		// Out of its folder and into it.
		{"rename " + given + "/b " + h.files + "/b", no}, {"rename " + h.files + "/a " + given + "/a", no},
		{"rename " + secret + " " + h.files + "/id", no}, {"rename " + h.files + "/a " + h.home + "/a", no},
		{"rename " + h.state + " " + h.files + "/state", no},
		{"link " + secret + " " + h.files + "/id", elsewhere}, {"link " + h.config + " " + h.files + "/config", elsewhere},
		{"link " + given + "/b " + h.files + "/b", elsewhere}, {"link " + h.files + "/a " + h.home + "/.profile", no},
		{"read " + h.files + "/planted", no}, {"write " + h.files + "/planted", no},
		{"follow " + secret + " " + h.files + "/link", no}, {"follow " + h.state + "/record.key " + h.files + "/link", no},
		{"follow " + h.files + "/a " + h.files + "/link", done},
		{"read " + h.files + "/../home/.ssh/id", no}, {"up " + secret, no},
		{"mount " + filepath.Dir(secret) + " " + h.files, no},
		// The network.
		{"listen", no},
		{"unix " + h.files + "/socket", no}, {"unix " + abstract.Addr().String(), no},
	}
	for _, way := range ways {
		h.check("plain", way.what, way.want)
		if way.want != done {
			h.check("plain", "descendant "+way.what, way.want)
		}
	}
	for _, way := range []wayOut{
		// The parent of the server is codemode.
		{"root " + secret, no}, {"root " + h.files + "/a", no}, {"cwd /.", no}, {"trace", "not permitted"},
		{"peek", "not permitted"}, {"descriptor", "not permitted"}, {"environment", no}, {"memory", no},
		{"descendant descendant read " + secret, no}, {"descendant read " + h.files + "/a", done},
		{"descendant signal", done}, // its parent is the server
	} {
		h.check("plain", way.what, way.want)
	}
	h.check("plain", "signal", "not permitted")
	for path, want := range map[string]string{given + "/b": "b", secret: "secret", h.files + "/a": "a"} {
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", path, text, err)
		}
	}
	h.served.end()
}

// A reload that takes a folder away ends the server that has it, and what that server started. The new one is without.
func TestAConfinedServerLosesAFolder(t *testing.T) {
	t.Parallel()
	h := newConfinedHouse(t)
	given := filepath.Join(h.dir, "given")
	checktest.OK(t, os.Mkdir(given, 0o700))
	with := map[string]map[string]any{"by_words": {"args": []string{h.files, given}}}
	h.configure(nil, with)
	h.serve("--confine")
	var left []int
	for name := range with {
		h.check(name, "leave "+given, "done")
		path := filepath.Join(given, "beat")
		if !testwait.Holds(func() bool {
			text, _ := os.ReadFile(path)
			pid, _ := strconv.Atoi(string(text))
			left = append(left, pid)
			return pid != 0
		}) {
			t.Fatal("the descendant does not write")
		}
	}
	h.configure(nil, map[string]map[string]any{"by_words": {"args": []string{h.files}}})
	for name := range with {
		if !testwait.Holds(func() bool { return strings.Contains(h.try(name, "write "+given+"/x"), "permission denied") }) {
			t.Errorf("%s still writes\n%s", name, h.served.log)
		}
		h.check(name, "write "+h.files+"/x", "done")
	}
	for _, pid := range left {
		if pid != 0 && !testwait.Holds(func() bool { return syscall.Kill(pid, 0) != nil }) {
			t.Errorf("process %d of the server before lives on", pid)
		}
	}
	h.served.end()
}

// The filesystem server of npm with the folders that its entry names. Where it is told to allow the whole system, the
// rules of the kernel are the only bound.
func TestConfinedFilesystemServerOfNPM(t *testing.T) {
	t.Parallel()
	h := newConfinedHouse(t)
	server := filepath.Join(npmDir(t), "node_modules", ".bin", "mcp-server-filesystem")
	write(t, h.config, fmt.Sprintf(`{"confine": true, "mcpServers": {
		"fs": {"command": %q, "args": ["/", %q]}}}`, server, h.files))
	h.serve()
	secret := filepath.Join(h.home, ".ssh", "id")
	checktest.OK(t, os.Symlink(secret, filepath.Join(h.files, "link")))
	for _, tt := range []struct{ tool, args, want string }{
		{"read_text_file", fmt.Sprintf(`{path: %q}`, h.files+"/a"), "done"},
		{"write_file", fmt.Sprintf(`{path: %q, content: "x"}`, h.files+"/new"), "done"},
		{"list_directory", fmt.Sprintf(`{path: %q}`, h.files), "done"},
		{"move_file", fmt.Sprintf(`{source: %q, destination: %q}`, h.files+"/new", h.files+"/moved"), "done"},
		{"create_directory", fmt.Sprintf(`{path: %q}`, h.files+"/folder"), "done"},
		{"read_text_file", fmt.Sprintf(`{path: %q}`, secret), "EACCES"},
		{"read_text_file", fmt.Sprintf(`{path: %q}`, h.files+"/link"), "EACCES"},
		{"read_text_file", fmt.Sprintf(`{path: %q}`, h.state+"/record.key"), "EACCES"},
		{"read_text_file", fmt.Sprintf(`{path: %q}`, "/etc/shadow"), "EACCES"},
		{"write_file", fmt.Sprintf(`{path: %q, content: "x"}`, h.home+"/.profile"), "EACCES"},
		{"write_file", fmt.Sprintf(`{path: %q, content: "x"}`, h.config), "EACCES"},
		{"edit_file", fmt.Sprintf(`{path: %q, edits: [{oldText: "m", newText: "n"}]}`, h.config), "EACCES"},
		{"list_directory", fmt.Sprintf(`{path: %q}`, h.home), "EACCES"},
		{"list_directory", `{path: "/"}`, "EACCES"},
		{"move_file", fmt.Sprintf(`{source: %q, destination: %q}`, h.files+"/a", h.home+"/a"), "EACCES"},
		{"move_file", fmt.Sprintf(`{source: %q, destination: %q}`, h.config, h.files+"/c"), "EACCES"},
		{"create_directory", fmt.Sprintf(`{path: %q}`, h.dir+"/folder"), "EACCES"},
	} {
		got := callText(t, h.client, fmt.Sprintf(
			`try { await codemode.fs[%q](%s); return "done" } catch (e) { return String(e.message ?? e) }`, tt.tool, tt.args))
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: got %q, want %q", tt.tool, tt.args, got, tt.want)
		}
	}
	h.served.end()
}
