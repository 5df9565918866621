package codemode_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/codemode-project/codemode"
)

// TestBindMounts: a bind mount is the folder that it shows, as root and below a root. The test runs itself in a mount
// namespace of its own, so that nobody else sees the mounts.
func TestBindMounts(t *testing.T) {
	if os.Getenv("CODEMODE_TEST_MOUNTS") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBindMounts$", "-test.v")
		cmd.Env = append(os.Environ(), "CODEMODE_TEST_MOUNTS=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		switch {
		case strings.Contains(string(out), "--- SKIP"):
			t.Skip(strings.TrimSpace(string(out)))
		case err != nil && len(out) == 0:
			t.Skip("no mount namespace can be made here: ", err)
		case err != nil:
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Skip("no mounts can be made here: ", err)
	}
	bind := func(h house, from, to string) {
		t.Helper()
		must(t, os.MkdirAll(h.at(to), 0o700))
		if err := syscall.Mount(h.at(from), h.at(to), "", syscall.MS_BIND, ""); err != nil {
			t.Skip("no bind mounts can be made here: ", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(h.at(to), syscall.MNT_DETACH) })
	}
	h := newHouse(t)
	h.write("state/logins/mail.json", "token")
	for from, root := range map[string]string{"config": "m1", "state": "m2", "state/logins": "m3", ".": "m4",
		"saved": "m5"} {
		bind(h, from, root)
		if from == "saved" {
			h.write("config/codemode.json", `{"scripts": {"root": "../saved"}}`)
		}
		if _, err := codemode.New(t.Context(), h.options(h.at(root))); err == nil {
			t.Errorf("a bind mount of %s is a root", from)
		}
	}
	if _, err := codemode.New(t.Context(), h.options(h.at("m2/logins"))); err == nil {
		t.Error("a folder in a bind mount of the state is a root")
	}

	// Below a root that was fine, later.
	e := h.start(h.at("desk"))
	bind(h, "state", "desk/later/state")
	bind(h, "state/logins", "desk/sub/deep")
	bind(h, "config", "desk/rules")
	const no = "no program may touch"
	for _, call := range []string{
		`read_text_file({path: "later/state/record.key"})`, `read_text_file({path: "sub/deep/mail.json"})`,
		`list_directory({path: "later/state"})`,
		`list_directory({path: "rules"})`, `directory_tree({path: "sub/deep"})`,
		`search_files({path: "later/state", pattern: "**"})`,
		`write_file({path: "rules/overlays.json", content: "{}"})`,
		`write_file({path: "rules/codemode.json", content: "{}"})`,
		`write_file({path: "sub/deep/new.json", content: "{}"})`, `create_directory({path: "later/state/logins/x/y"})`,
		`move_file({source: "note.txt", destination: "rules/overlays.json"})`,
		`move_file({source: "later/state/record.key", destination: "key"})`,
		`delete_file({path: "later/state/record.key"})`, `get_file_info({path: "later/state/record.key"})`,
		`edit_file({path: "rules/codemode.json", edits: [{oldText: "{", newText: "["}]})`,
	} {
		keptOut(t, e, call, no)
	}
	// Another name for the way, and the way through a link.
	works(t, e, `move_file({source: "later", destination: "fine"})`)
	t.Cleanup(func() { _ = syscall.Unmount(h.at("desk/fine/state"), syscall.MNT_DETACH) })
	keptOut(t, e, `read_text_file({path: "fine/state/record.key"})`, no)
	must(t, os.Symlink("fine/state", h.at("desk/soft")))
	keptOut(t, e, `read_text_file({path: "soft/record.key"})`, no)
	keptOut(t, e, `write_file({path: "soft/new", content: "x"})`, no)
	r, err := e.Eval(t.Context(),
		codemode.Request{Unrestricted: true, Code: `return await codemode.filesystem__search_files({pattern: "**"})`})
	if err != nil || strings.Contains(string(r.Value), "record.key") || strings.Contains(string(r.Value), "mail.json") ||
		!strings.Contains(string(r.Value), "note.txt") {
		t.Errorf("a search through the whole root: %s %v", r.Value, err)
	}
}
