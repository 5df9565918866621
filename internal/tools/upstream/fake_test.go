package upstream_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// The test binary is the fake server, too: fakeServer starts it again with the
// name of a way to behave badly.
func TestMain(m *testing.M) {
	if mode := os.Getenv("CODEMODE_FAKE"); mode != "" {
		f := &fake{mode: mode, arg: os.Getenv("CODEMODE_FAKE_ARG"), in: bufio.NewReaderSize(os.Stdin, 1<<20)}
		f.run()
		os.Exit(0)
	}
	beParent()
	testwait.Parallel(6)
	trustTestServers()
	os.Exit(m.Run())
}

// fakeServer is the entry of a fake that behaves as mode says.
func fakeServer(t testing.TB, name, mode string, arg ...string) upstream.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return upstream.Server{Server: servers.Server{
		Name: name, Transport: upstream.Stdio, Command: self,
		Env: map[string]string{"CODEMODE_FAKE": mode, "CODEMODE_FAKE_ARG": strings.Join(arg, " ")},
	}}
}

// A fake is an MCP server written by hand, so that it can do what no SDK would.
type fake struct {
	mode, arg string
	in        *bufio.Reader
	mu        sync.Mutex // one line at a time
	lists     int
	answers   chan string // to what "elicits" asked
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Cursor    string          `json:"cursor"`
		Version   string          `json:"protocolVersion"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

func (f *fake) print(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := os.Stdout.WriteString(s); err != nil {
		os.Exit(0)
	}
}

func (f *fake) send(format string, args ...any) { f.print(fmt.Sprintf(format, args...) + "\n") }

func (f *fake) result(r *request, result string) {
	f.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
}

func (f *fake) text(r *request, text string) {
	b, _ := json.Marshal(text)
	f.result(r, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, b))
}

func (f *fake) run() {
	switch f.mode {
	case "elicits":
		f.answers = make(chan string, 100)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	case "slow start":
		ms, _ := strconv.Atoi(f.arg)
		time.Sleep(time.Duration(ms) * time.Millisecond) // this process starts slowly
	case "never starts":
		select {}
	case "exits at once":
		fmt.Fprintln(os.Stderr, "cannot find the license file")
		os.Exit(3)
	case "banner":
		f.print("\n*** Welcome to fake 1.0 ***\r\nlistening...\n{\"level\":30,\"msg\":\"a log line in JSON\"}\n[1,2]\nno newline: ")
	case "floods stderr":
		go func() {
			line := bytes.Repeat([]byte("\x1b[31mnoise "), 1000)
			for {
				if _, err := os.Stderr.Write(append(line, '\n')); err != nil {
					return
				}
			}
		}()
	case "prints its environment":
		var all []string
		for _, v := range os.Environ() {
			if name, value, _ := strings.Cut(v, "="); name == "PATH" || name == servers.ChildVariable {
				v = strings.TrimSuffix(v, value)
			}
			all = append(all, v)
		}
		slices.Sort(all)
		text, _ := json.Marshal(all)
		f.print(string(text))
		os.Exit(0)
	case "prints bytes":
		f.print("\xff\x00")
		os.Exit(0)
	case "prints without end":
		for {
			f.print(strings.Repeat("x", 4096))
		}
	case "closes its output and stays":
		os.Stdout.Close()
		time.Sleep(time.Hour) // somebody ends this process
	case "kills itself":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		time.Sleep(time.Hour) // until the signal comes
	case "has a grandchild", "leaves a grandchild":
		// It holds our standard output and error, as the real server behind npx does.
		c := exec.Command("sleep", "600")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			panic(err)
		}
		if f.arg != "" {
			if err := os.WriteFile(f.arg, []byte(strconv.Itoa(c.Process.Pid)), 0o600); err != nil {
				panic(err)
			}
		}
	}
	for {
		line, err := f.in.ReadBytes('\n')
		if err != nil {
			if f.mode == "stubborn" {
				select {}
			}
			return
		}
		var r request
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		switch r.Method {
		case "initialize":
			f.initialize(&r)
		case "tools/list":
			f.list(&r)
		case "tools/call":
			if f.mode == "one at a time" {
				f.call(&r)
			} else {
				go f.call(&r)
			}
		case "notifications/initialized":
			f.initialized()
		case "notifications/cancelled":
			if f.arg != "" {
				_ = os.WriteFile(f.arg, line, 0o600)
			}
		case "ping":
			if f.mode != "hangs for good" {
				f.result(&r, "{}")
			}
		case "":
			if f.answers != nil {
				f.answers <- string(line)
			}
		default:
			if r.ID != nil {
				f.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, r.ID)
			}
		}
	}
}

func (f *fake) initialize(r *request) {
	version := r.Params.Version
	switch f.mode {
	case "hides tools":
		f.result(r, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"fake","version":"1"}}`)
		return
	case "refuses":
		f.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"your licence has expired"}}`, r.ID)
		return
	case "garbage":
		f.garbage()
	case "opens": // as it is told to
		var a struct{ Result, Error, Only string }
		_ = json.Unmarshal([]byte(f.arg), &a)
		if a.Error != "" && (a.Only == "" || a.Only != version) {
			f.send(`{"jsonrpc":"2.0","id":%s,"error":%s}`, r.ID, a.Error)
			return
		}
		f.result(r, strings.ReplaceAll(a.Result, "ASKED", version))
		return
	}
	f.result(r, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1"},"instructions":"be kind"}`, version))
}

func (f *fake) initialized() {
	switch f.mode {
	case "flaps":
		go func() {
			time.Sleep(20 * time.Millisecond) // this process lives for so long
			os.Exit(1)
		}()
	case "storms":
		go func() {
			for {
				f.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				time.Sleep(100 * time.Microsecond) // this process storms at this rate
			}
		}()
	case "answers nobody":
		go func() {
			for i := 1000; ; i++ {
				f.send(`{"jsonrpc":"2.0","id":%d,"result":{}}`, i)
				time.Sleep(100 * time.Microsecond) // as above
			}
		}()
	case "changes":
		go func() {
			time.Sleep(50 * time.Millisecond) // the client process has read the list by then
			for range 5 {
				f.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
		}()
	case "asks":
		go func() {
			for i := range 1000 {
				f.send(`{"jsonrpc":"2.0","id":"s%d","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`, i)
			}
		}()
	}
}

// garbage writes what no server should.
func (f *fake) garbage() {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		line := make([]byte, rnd.IntN(200))
		for i := range line {
			line[i] = byte(rnd.IntN(256))
		}
		f.print(string(line) + "\n")
	}
	for _, s := range []string{
		"\x00\x00", "Content-Length: 17\r\n\r", `{"jsonrpc":"2.0"`, `{"jsonrpc":"2.0","id":1,`, "[]", "[{}]", "{}",
		`{"jsonrpc":"1.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":999999,"result":{}}`, `{"jsonrpc":"2.0","id":"nobody","result":{"content":[]}}`,
		`{"jsonrpc":"2.0","id":null,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"both"}}`,
		`{"jsonrpc":"2.0","method":"notifications/unknown","params":[1]}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{"a":1},"progress":"x"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}`,
		strings.Repeat("[", 20000), strings.Repeat(`{"a":`, 20000),
	} {
		f.print(s + "\n")
	}
}

const plainTools = `{"name":"echo","description":"gives back what it gets","inputSchema":{"type":"object"}},
	{"name":"slow","inputSchema":{"type":"object"}},{"name":"env","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}},
	{"name":"raw","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}},{"name":"error","inputSchema":{"type":"object"}}`

func (f *fake) list(r *request) {
	f.lists++
	page := strings.ReplaceAll(plainTools, "\n\t", "")
	switch f.mode {
	case "odd names":
		page = `null, 5, {"name":"twice","description":"a","inputSchema":{"type":"object"}}, {"name":"twice","description":"b","inputSchema":{"type":"object"}},
			{"name":"same","inputSchema":{"type":"object"}}, {"name":"same","inputSchema":{"type":"object"}},
			{"name":"","inputSchema":{"type":"object"}}, {"description":"no name"}, {"name":7}, {"name":"` + strings.Repeat("x", 300) + `"},
			{"name":"line\nbreak"}, {"name":"naïve.tool-1","inputSchema":true}, {"name":"no schema","description":5,"annotations":"x","outputSchema":[]},
			{"name":"task","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`
		page = strings.ReplaceAll(page, "\n\t\t\t", "")
	case "endless list":
		n, _ := strconv.Atoi(r.Params.Cursor)
		f.result(r, fmt.Sprintf(`{"tools":[{"name":"tool%d","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, n, n+1))
		return
	case "same cursor":
		f.result(r, `{"tools":[{"name":"again","inputSchema":{"type":"object"}}],"nextCursor":"x"}`)
		return
	case "pages":
		n, _ := strconv.Atoi(r.Params.Cursor)
		next := ""
		if n < 9 {
			next = fmt.Sprintf(`,"nextCursor":"%d"`, n+1)
		}
		f.result(r, fmt.Sprintf(`{"tools":[{"name":"tool%d","inputSchema":{"type":"object","properties":{"n":{"const":9007199254740993}}}}]%s}`, n, next))
		return
	case "changes", "storms":
		page += fmt.Sprintf(`,{"name":"version","description":"list %d","inputSchema":{"type":"object"}}`, min(f.lists, 2))
	case "lists late":
		if f.lists == 1 {
			return // never
		}
	case "hides tools":
		f.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, r.ID)
		return
	case "list breaks":
		if f.lists > 1 {
			f.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"database is down"}}`, r.ID)
			return
		}
		go func() {
			time.Sleep(50 * time.Millisecond) // as above
			f.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}()
	}
	f.result(r, `{"tools":[`+page+`]}`)
}

func (f *fake) call(r *request) {
	switch f.mode {
	case "crashes":
		fmt.Fprintln(os.Stderr, "panic: out of luck")
		os.Exit(7)
	case "crashes with its arguments":
		fmt.Fprintf(os.Stderr, "panic: bad arguments %s with key %s\n", r.Params.Arguments, f.arg)
		os.Exit(7)
	case "is killed":
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
	case "half a line":
		f.print(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":{"content":[{"type":"text","te`)
		os.Exit(1)
	case "closes its output":
		_ = os.Stdout.Close()
		return
	case "hangs", "hangs for good":
		return
	case "huge":
		f.print(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":{"content":[{"type":"text","text":"`)
		for {
			f.print(strings.Repeat("x", 1<<20))
		}
	case "banner":
		f.print("about to answer: ")
		f.text(r, "fine")
		f.print("and answered\n")
		return
	case "answers twice":
		f.text(r, "first")
		f.text(r, "second")
		return
	case "wants a page":
		f.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"Log in first","data":{"elicitations":[{"mode":"url","elicitationId":"1","url":"https://x.invalid/login"}]}}}`, r.ID)
		return
	case "pretty":
		f.print("{\n \"jsonrpc\": \"2.0\",\n \"id\": " + string(r.ID) + ",\n \"result\": {}\n}\n")
		return
	case "no result":
		f.result(r, `"just text"`)
		return
	}
	if f.mode == "prints" && r.Params.Name == "raw" { // prints what it is told to
		var a struct{ Text string }
		_ = json.Unmarshal(r.Params.Arguments, &a)
		f.print(strings.NewReplacer("ID", string(r.ID), "ITS TOKEN", os.Getenv("API_TOKEN")).Replace(a.Text))
		return
	}
	if f.mode == "elicits" && r.Params.Name == "raw" { // asks with the params that it is told to
		var a struct{ Result json.RawMessage }
		_ = json.Unmarshal(r.Params.Arguments, &a)
		f.send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":%s}`, a.Result)
		f.text(r, <-f.answers)
		return
	}
	switch r.Params.Name {
	case "echo", "naïve.tool-1", "no schema", "same":
		f.result(r, fmt.Sprintf(`{"content":[],"structuredContent":{"got":%s}}`, r.Params.Arguments))
	case "slow":
		var a struct{ MS int }
		_ = json.Unmarshal(r.Params.Arguments, &a)
		for i := range 4 {
			time.Sleep(time.Duration(a.MS) * time.Millisecond / 4) // a call of this process takes so long
			if r.Params.Meta.Token != nil {
				f.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":4,"message":"step %d"}}`,
					r.Params.Meta.Token, i+1, i+1)
			}
		}
		f.text(r, "done")
	case "env":
		f.text(r, strings.Join(os.Environ(), "\n"))
	case "die":
		os.Exit(0)
	case "raw": // answers with what it is told to
		var a struct{ Result json.RawMessage }
		_ = json.Unmarshal(r.Params.Arguments, &a)
		f.result(r, string(a.Result))
	case "deny": // tells its own secret
		text, _ := json.Marshal("bad key " + os.Getenv("API_KEY"))
		f.result(r, fmt.Sprintf(`{"isError":true,"content":[{"type":"text","text":%s}]}`, text))
	case "fail":
		f.result(r, `{"content":[{"type":"text","text":"no such"},{"type":"text","text":"file"}],"isError":true}`)
	default:
		f.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool %s"}}`, r.ID, r.Params.Name)
	}
}
