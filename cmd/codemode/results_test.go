//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A process is killed between the program that made a result and those that read it: the next one has it, and what is
// on the disk is sealed.
func TestResultsOutliveTheirProcess(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	client := h.connect()
	text := <-runs(t, client, `return Array.from({length: 9000}, (_, i) => ({id: i, name: "canary-" + i}))`)
	_, rest, ok := strings.Cut(text, "codemode://results/")
	if !ok {
		t.Fatalf("the reply names no handle: %.300s", text)
	}
	handle := rest[:26]
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = client.Close() // waits for the process
	client = h.connect()
	const first = `"name": "canary-8999"`
	if text := <-runs(t, client, fmt.Sprintf(`return await codemode.load(%q, {pointer: "/8999"})`,
		handle)); !strings.Contains(text, first) {
		t.Errorf("a program of the next process gets %s", text)
	}
	got, err := client.ReadResource(t.Context(),
		&mcp.ReadResourceParams{URI: "codemode://results/" + handle + "?from=8999"})
	if err != nil || got.Contents[0].Text != `[{"id":8999,"name":"canary-8999"}]` {
		t.Errorf("a client of the next process gets %+v (%v)", got, err)
	}
	out, err := h.command("audit", "results", "--config", h.config)
	if err != nil || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, handle) {
		t.Errorf("codemode audit results: %s (%v)", out, err)
	}
	err = filepath.WalkDir(h.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte("canary-8500")) {
			t.Errorf("%s holds it in clear", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
