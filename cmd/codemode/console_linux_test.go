package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A person who starts the server on a terminal reads a link there; it opens the page.
func TestConsoleLinkOnTheTerminal(t *testing.T) {
	h := newHouse(t, `{"asklist": ["filesystem__*"]}`, "--http", "127.0.0.1:0")
	keys, terminal := openTerminal(t)
	cmd := exec.Command(os.Args[0], h.args...)
	cmd.Env, cmd.Stderr = h.environment, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	shown := &screen{}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := keys.Read(b)
			shown.Write(b[:n])
			if err != nil {
				return
			}
		}
	}()
	link := ""
	if !testwait.Holds(func() bool {
		for _, word := range strings.Fields(shown.String()) {
			if base, secret, ok := strings.Cut(word, "/console/login#"); ok && strings.HasPrefix(base, "http://127.0.0.1:") &&
				len(secret) == 26 {
				link = word
			}
		}
		return link != ""
	}) {
		t.Fatalf("the terminal shows %q", shown)
	}
	base, secret, _ := strings.Cut(link, "/login#")
	p := &person{t: t, base: base}
	var said console.Session
	if res := p.send("POST", "/login", map[string]string{"secret": secret}, &said); res.StatusCode != 200 ||
		said.Person != launch.Owner() {
		t.Errorf("the link on the terminal: %s %+v", res.Status, said)
	}
}
