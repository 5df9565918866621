package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/tools/upstream/builtin"
)

// granted makes a directory with a few files, beside a secret one, and a
// filesystem server that has the directory.
func granted(t testing.TB) (dir string, server builtin.Server) {
	t.Helper()
	base := t.TempDir()
	dir = filepath.Join(base, "granted")
	for name, text := range map[string]string{
		"granted/a.txt": "one\ntwo\nthree\n", "granted/notes/b.md": "# B", "granted/notes/deep/c.md": "C",
		"granted/bytes":         "\xff\xfe\x00",
		"granted/notes/.hidden": "h", "granted/pic.png": "\x89PNG\r\n\x1a\n", "secret.txt": "s3cret",
	} {
		path := filepath.Join(base, name)
		checktest.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
	for link, target := range map[string]string{
		"out": "../secret.txt", "abs": filepath.Join(base, "secret.txt"), "up": "..", "in": "a.txt", "loop": "loop",
		"dirlink": "notes", "proc": "/proc/self/environ",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	root, err := os.OpenRoot(dir)
	checktest.OK(t, err)
	t.Cleanup(func() { root.Close() })
	return dir, builtin.Filesystem(root, nil)
}

// call uses a tool and returns its value as JSON.
func call(ctx context.Context, server builtin.Server, tool, args string) (string, error) {
	for _, t := range server.Tools {
		if t.Name == tool {
			v, err := t.Call(ctx, json.RawMessage(args))
			if err != nil {
				return "", err
			}
			return string(mustJSON(v)), nil
		}
	}
	return "", errors.New("no such tool")
}

func TestTheBuiltInFilesystem(t *testing.T) {
	dir, m := granted(t)
	for _, row := range []struct{ tool, args, want string }{ // want: the value, or "error: " and a part of the message
		{"read_text_file", `{"path":"a.txt"}`, `{"content":"one\ntwo\nthree\n"}`},
		{"read_text_file", `{"path":"a.txt","head":2}`, `{"content":"one\ntwo\n"}`},
		{"read_text_file", `{"path":"a.txt","head":99}`, `{"content":"one\ntwo\nthree\n"}`},
		{"read_text_file", `{"path":"a.txt","tail":1}`, `{"content":"three\n"}`},
		{"read_text_file", `{"path":"a.txt","tail":99}`, `{"content":"one\ntwo\nthree\n"}`},
		{"read_text_file", `{"path":"a.txt","tail":1,"head":1}`, "error: cannot be asked for together"},
		{"read_text_file", `{"path":"in"}`, `{"content":"one\ntwo\nthree\n"}`},
		{"read_text_file", `{"path":"bytes"}`, "error: no UTF-8 text"},
		{"read_text_file", `{"path":"notes"}`, "error: is a directory: use list_directory"},
		{"read_text_file", `{"path":"none.txt"}`, "error: none.txt: it does not exist"},
		{"read_text_file", `{"path":"a.txt","lines":2}`, "error: unknown field"},
		{"read_multiple_files", `{"paths":["a.txt","none","bytes","../secret.txt"]}`,
			`{"files":[{"path":"a.txt","content":"one\ntwo\nthree\n"},{"path":"none","error":"none: it does not exist"},{"path":"bytes","error":"bytes is no UTF-8 text: use read_media_file"},` +
				`{"path":"../secret.txt","error":"path \"../secret.txt\" has \"..\" in it, which is not allowed"}]}`},
		{"list_directory", `{}`, `{"entries":[{"name":"a.txt","type":"file","size":14},{"name":"abs","type":"symlink"},{"name":"bytes","type":"file","size":3},{"name":"dirlink","type":"symlink"},{"name":"in","type":"symlink"},` +
			`{"name":"loop","type":"symlink"},{"name":"notes","type":"directory"},{"name":"out","type":"symlink"},{"name":"pic.png","type":"file","size":8},{"name":"proc","type":"symlink"},{"name":"up","type":"symlink"}],"truncated":false}`},
		{"list_directory", `{"path":"notes/deep"}`, `{"entries":[{"name":"c.md","type":"file","size":1}],"truncated":false}`},
		{"list_directory", `{"path":"a.txt"}`, "error: a.txt is no directory"},
		{"directory_tree", `{"path":"notes"}`,
			`{"tree":[{"name":".hidden","type":"file"},{"name":"b.md","type":"file"},{"name":"deep","type":"directory","children":[{"name":"c.md","type":"file"}]}],"truncated":false}`},
		{"directory_tree", `{"path":"notes","excludePatterns":["deep",".*"]}`,
			`{"tree":[{"name":"b.md","type":"file"}],"truncated":false}`},
		{"search_files", `{"pattern":"**/*.md"}`, `{"matches":["notes/b.md","notes/deep/c.md"],"truncated":false}`},
		{"search_files", `{"pattern":"*.md"}`, `{"matches":[],"truncated":false}`},
		{"search_files", `{"path":"notes","pattern":"*.md"}`, `{"matches":["notes/b.md"],"truncated":false}`},
		{"search_files", `{"pattern":"**","excludePatterns":["notes","*l*","[abdipu]*","o*"]}`,
			`{"matches":[],"truncated":false}`},
		{"search_files", `{"pattern":"notes/**/c.*"}`, `{"matches":["notes/deep/c.md"],"truncated":false}`},
		{"search_files", `{"pattern":"notes/**/{b,deep/c}.md"}`,
			`{"matches":["notes/b.md","notes/deep/c.md"],"truncated":false}`},
		{"search_files", `{"pattern":"a.txt{,~}"}`, `{"matches":["a.txt"],"truncated":false}`},
		{"search_files", `{"pattern":"["}`, "error: is no pattern"},
		{"search_files", `{"pattern":"{a,b"}`, "error: is no pattern"},
		{"search_files", `{"pattern":"` + strings.Repeat("{a,aa}", 9) + `"}`, "error: too many patterns"},
		{"search_files", `{"pattern":"**","excludePatterns":["` + strings.Repeat("{a,aa}", 9) + `"]}`,
			"error: too many patterns"},
		{"search_files", `{"pattern":"**","excludePatterns":[` + strings.Repeat(`"a",`, 100) + `"a"]}`,
			"error: 101 patterns are more than 100"},
		{"directory_tree", `{"excludePatterns":["` + strings.Repeat("x", 1001) + `"]}`, "error: more than 1000"},
		{"write_file", `{"path":"new.txt","content":"né"}`, `{"bytes":3,"path":"new.txt"}`},
		{"write_file", `{"path":"new.txt","content":"x"}`, `{"bytes":1,"path":"new.txt"}`},
		{"write_file", `{"path":"no/such/dir.txt","content":"x"}`,
			"error: no/such/dir.txt: its directory does not exist: make it with create_directory"},
		{"write_file", `{"path":"notes","content":"x"}`, "error: is a directory"},
		{"write_file", `{"path":"in","content":"through the link"}`, `{"bytes":16,"path":"in"}`},
		{"read_text_file", `{"path":"a.txt"}`, `{"content":"through the link"}`},
		{"edit_file", `{"path":"a.txt","edits":[{"oldText":"through","newText":"by"},{"oldText":"by the","newText":"by a"}],"dryRun":true}`, `{"bytes":9,"content":"by a link","path":"a.txt"}`},
		{"edit_file", `{"path":"a.txt","edits":[{"oldText":"through","newText":"by"},{"oldText":"nowhere","newText":"x"}]}`,
			"error: edit 2: a.txt does not contain its oldText; nothing was changed"},
		{"edit_file", `{"path":"a.txt","edits":[{"oldText":"h","newText":"x"}]}`, "error: contains its oldText 3 times"},
		{"edit_file", `{"path":"a.txt","edits":[{"oldText":"through","newText":"by"}]}`, `{"bytes":11,"path":"a.txt"}`},
		{"read_text_file", `{"path":"a.txt"}`, `{"content":"by the link"}`},
		{"create_directory", `{"path":"x/y"}`, `{"path":"x/y"}`},
		{"create_directory", `{"path":"x/y"}`, `{"path":"x/y"}`},
		{"move_file", `{"source":"new.txt","destination":"x/y/moved.txt"}`, `{"path":"x/y/moved.txt"}`},
		{"move_file", `{"source":"new.txt","destination":"elsewhere"}`, "error: new.txt: it does not exist"},
		{"move_file", `{"source":"a.txt","destination":"x/y/moved.txt"}`, "error: exists already"},
		{"move_file", `{"source":".","destination":"z"}`, "error: cannot be moved"},
		{"delete_file", `{"path":"x"}`, "error: not empty"},
		{"delete_file", `{"path":"x/y/moved.txt"}`, `{"path":"x/y/moved.txt"}`},
		{"delete_file", `{"path":"x/y"}`, `{"path":"x/y"}`},
		{"delete_file", `{"path":"."}`, "error: cannot be deleted"},
		{"delete_file", `{"path":"out"}`, `{"path":"out"}`},
	} {
		r, err := call(t.Context(), m, row.tool, row.args)
		if part, wantErr := strings.CutPrefix(row.want, "error: "); wantErr {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s %s: got %v, %v, want an error with %q", row.tool, row.args, r, err, part)
			} else if strings.Contains(err.Error(), dir) {
				t.Errorf("%s %s: the error tells where the directory is: %v", row.tool, row.args, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", row.tool, row.args, err)
		} else if got := r; got != row.want {
			t.Errorf("%s %s:\n got  %s\n want %s", row.tool, row.args, got, row.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".codemode-*")); len(left) > 0 {
		t.Errorf("files were left: %v", left)
	}
	if b, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "secret.txt")); err != nil || string(b) != "s3cret" {
		t.Errorf("the file outside was touched: %q, %v", b, err)
	}
}

func TestNoPathLeadsOut(t *testing.T) {
	_, m := granted(t)
	for _, path := range []string{
		"../secret.txt", "notes/../../secret.txt", "out", "abs", "up/secret.txt", "up", "/etc/passwd", "//etc/passwd",
		"./a.txt", "a.txt/", "notes//b.md", "notes/./b.md",
		"", "/", "..", "./", "loop", "proc", `..\secret.txt`, `C:\x`, "C:/x", "a.txt\x00", "dirlink/../../secret.txt",
		"file:///etc/passwd", "~/x", strings.Repeat("a/", 5000) + "a",
	} {
		for _, tool := range []string{"read_text_file", "read_media_file", "write_file", "delete_file", "create_directory",
			"edit_file", "move_file", "get_file_info", "list_directory", "directory_tree", "search_files"} {
			if tool == "delete_file" || tool == "get_file_info" || tool == "move_file" {
				if path == "out" || path == "abs" || path == "up" || path == "loop" || path == "proc" {
					continue // these are about the link itself
				}
			}
			if (tool == "list_directory" || tool == "directory_tree" || tool == "search_files") && path == "" {
				continue // the default
			}
			if path == "file:///etc/passwd" || path == "~/x" { // no special meaning: a name like others, if an odd one
				if tool == "write_file" || tool == "create_directory" {
					continue
				}
			}
			args := map[string]any{"path": path}
			switch tool {
			case "write_file":
				args["content"] = "evil"
			case "edit_file":
				args["edits"] = []any{map[string]string{"oldText": "s", "newText": "x"}}
			case "move_file":
				args = map[string]any{"source": path, "destination": "stolen"}
			case "search_files":
				args["pattern"] = "**"
			}
			raw, err := json.Marshal(args)
			checktest.OK(t, err)
			if r, err := call(t.Context(), m, tool, string(raw)); err == nil {
				t.Errorf("%s of %.40q: got %.200s", tool, path, r)
			} else if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s of %.40q tells the secret", tool, path)
			}
		}
	}
	for _, tool := range []string{"directory_tree", "search_files"} { // links are listed, not followed
		r, err := call(t.Context(), m, tool, map[string]string{"directory_tree": `{}`,
			"search_files": `{"pattern":"**"}`}[tool])
		if err != nil || strings.Contains(r, "secret") {
			t.Errorf("%s: got %s, %v", tool, r, err)
		}
	}
}

func TestAPipeCannotBlockAReader(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such pipes")
	}
	dir, m := granted(t)
	if err := mkfifo(filepath.Join(dir, "pipe")); err != nil {
		t.Skipf("no pipe can be made: %v", err)
	}
	for tool, args := range map[string]string{
		"read_text_file": `{"path":"pipe"}`, "read_media_file": `{"path":"pipe"}`,
		"edit_file": `{"path":"pipe","edits":[{"oldText":"a","newText":"b"}]}`, "write_file": `{"path":"pipe","content":""}`,
	} {
		if _, err := call(t.Context(), m, tool, args); err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Errorf("%s: got %v", tool, err)
		}
	}
}

func TestLargeFilesAndDirectories(t *testing.T) {
	dir, m := granted(t)
	big := strings.Repeat("é234567890123456789012345678901\n", 300000) // 9.9 MB, no multiple of the limit
	checktest.OK(t, os.WriteFile(filepath.Join(dir, "big"), []byte(big), 0o644))
	if _, err := call(t.Context(), m, "read_text_file", `{"path":"big"}`); err == nil || !strings.Contains(err.Error(),
		"ask for its head or tail") {
		t.Errorf("a file that is too long: got %v", err)
	}
	for _, args := range []string{`{"path":"big","head":1}`, `{"path":"big","tail":1}`} {
		r, err := call(t.Context(), m, "read_text_file", args)
		if want := `{"content":"é234567890123456789012345678901\n"}`; err != nil || r != want {
			t.Errorf("%s: got %v, %v", args, r, err)
		}
	}
	if _, err := call(t.Context(), m, "read_text_file", `{"path":"big","head":1000000}`); err != nil {
		t.Errorf("more lines than are read: %v", err)
	}
	checktest.OK(t, os.Mkdir(filepath.Join(dir, "many"), 0o755))
	for i := range 10050 {
		checktest.OK(t, os.WriteFile(filepath.Join(dir, "many", strings.Repeat("x", i%7)+string(mustJSON(i))), nil,
			0o600))
	}
	for _, tool := range []string{"list_directory", "directory_tree"} {
		r, err := call(t.Context(), m, tool, `{"path":"many"}`)
		if err != nil || !strings.HasSuffix(r, `"truncated":true}`) || strings.Count(r, `"name"`) != 10000 {
			t.Errorf("%s of many: %v", tool, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := call(ctx, m, "search_files", `{"pattern":"**"}`); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled search: got %v", err)
	}
}

// mustJSON is v as the answer of a tool has it.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

func TestMediaFilesAreBlocks(t *testing.T) {
	_, m := granted(t)
	for path, want := range map[string]string{
		"pic.png": `{"data":"iVBORw0KGgo=","mimeType":"image/png","type":"image"}`,
		"bytes":   `{"resource":{"blob":"//4A","mimeType":"application/octet-stream","uri":"file:///bytes"},"type":"resource"}`,
	} {
		if got, err := call(t.Context(), m, "read_media_file", `{"path":"`+path+`"}`); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", path, got, err, want)
		}
	}
}
