// Package demo is codemode demo: what codemode is for, in five steps that a person watches. It needs no file, network,
// model or account.
package demo

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/responder"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

// The configuration and the two programs of the demonstration.
var (
	//go:embed codemode.json
	configuration []byte
	//go:embed work.js
	work string
	//go:embed attack.js
	attack string
)

// Notes are the files that the program reads.
var notes = map[string]string{
	"monday.md":  "# Monday\n- [x] call the printer\n- [ ] order paper\n",
	"tuesday.md": "# Tuesday\n- [ ] pay the printer\n",
}

// limit is how long one step may take, without the person.
const limit = 30 * time.Second

// New is codemode demo.
func New(s cli.Streams) *cobra.Command {
	var fast bool
	cmd := &cobra.Command{
		Use:   "demo",
		Args:  cobra.NoArgs,
		Short: "Show what codemode does, in a folder of its own",
		Long: `Runs a program that reads two files and writes two, in a new folder that is removed at the end.
You answer the question about the writes. Meanwhile the process of the program is killed, and the
program goes on in another one. Then the record is verified, and a hostile program is refused.
It needs no file, network, model or account.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(s.Worker) == 0 {
				return cli.InternalError(errors.New("codemode cannot find its own program file, to start it"))
			}
			dir, err := os.MkdirTemp("", "codemode-demo")
			if err != nil {
				return cli.InternalError(err)
			}
			defer os.RemoveAll(dir)
			d := &demo{out: s.Out, dir: dir, self: s.Worker[0]}
			if !fast && cli.TerminalFile(s.In) != nil {
				d.keys = bufio.NewReader(s.In)
			}
			defer d.kill()
			return cli.InternalError(d.play(cmd.Context()))
		},
	}
	cmd.Flags().BoolVar(&fast, "fast", false, "wait for no key, and answer yes; as where there is no terminal")
	return cmd
}

// A demo is one demonstration.
type demo struct {
	out       io.Writer
	keys      *bufio.Reader // nil waits for nobody
	dir, self string

	server  *exec.Cmd          // codemode serve
	session *mcp.ClientSession // with it; nil while there is none
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// show prints a text that belongs to what was said last.
func (d *demo) show(text string) {
	for line := range strings.Lines(strings.TrimSpace(visible.Text(text))) {
		fmt.Fprintf(d.out, "    %s\n", strings.TrimRight(line, "\n"))
	}
	d.say("")
}

// line waits for a line of the person. The end of the input is an empty line.
func (d *demo) line(ctx context.Context) (string, error) {
	line, _ := cli.Typed(ctx, func() (string, error) { return d.keys.ReadString('\n') })
	d.say("")
	return line, context.Cause(ctx)
}

// next waits for the person.
func (d *demo) next(ctx context.Context) error {
	if d.keys == nil {
		return nil
	}
	fmt.Fprint(d.out, "(press Enter) ")
	_, err := d.line(ctx)
	return err
}

// answer asks the person yes or no.
func (d *demo) answer(ctx context.Context) (bool, error) {
	if d.keys == nil {
		d.say("Allow both? yes\n")
		return true, nil
	}
	fmt.Fprint(d.out, "Allow both? [yes/no] ")
	line, err := d.line(ctx)
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y"), err
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

// play plays all steps.
func (d *demo) play(ctx context.Context) error {
	if err := os.Mkdir(d.path("notes"), 0o700); err != nil {
		return err
	}
	for name, text := range notes {
		if err := os.WriteFile(filepath.Join(d.path("notes"), name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(d.path("codemode.json"), configuration, 0o600); err != nil {
		return err
	}
	d.say("1. A model wrote this program. Its calls reach a folder with two notes, as far as these rules let them.\n")
	d.show(work)
	d.show(string(configuration))
	if err := d.next(ctx); err != nil {
		return err
	}
	if err := d.start(ctx); err != nil {
		return err
	}
	first := d.eval(ctx, "work", work)
	link, asked, err := d.question(ctx)
	if err != nil {
		return err
	}
	d.say("2. The reads are done. Both writes wait for a person, in one question:\n")
	d.show(asked.view)
	link.Close()
	d.say("3. Before anybody answers, the process of the program is killed (kill -9), and another one is started. The")
	d.say("   program waits in the database; it goes on where it was, and nothing is done twice.\n")
	if err := d.next(ctx); err != nil {
		return err
	}
	if err := d.restart(ctx, first); err != nil {
		return err
	}
	result := d.eval(ctx, "work", work) // with the key of the first request: the same run
	if link, asked, err = d.question(ctx); err != nil {
		return err
	}
	defer link.Close()
	yes, err := d.answer(ctx)
	if err != nil {
		return err
	}
	if err := asked.reply(link, yes); err != nil {
		return err
	}
	if err := d.result(ctx, result); err != nil {
		return err
	}
	d.say("4. Every call is in the record, with who allowed it and why. It is verified:\n")
	if err := d.next(ctx); err != nil {
		return err
	}
	verified, err := d.command(ctx, "audit", "verify", "--config", d.path("codemode.json"), "--state", d.path("state"))
	if err != nil {
		return err
	}
	d.show(strings.ReplaceAll(verified, d.dir, "DEMO"))
	d.say("5. A hostile program wants out:\n")
	d.show(attack)
	if err := d.next(ctx); err != nil {
		return err
	}
	if err := d.result(ctx, d.eval(ctx, "attack", attack)); err != nil {
		return err
	}
	d.say("The folder is removed. To put codemode in front of your own servers: codemode init --install")
	return nil
}

// start starts codemode serve, as a client does.
func (d *demo) start(ctx context.Context) error {
	d.server = exec.Command(d.self, "serve", "--config", d.path("codemode.json"), "--project", "none",
		"--root", d.path("notes"), "--state", d.path("state"))
	client := mcp.NewClient(&mcp.Implementation{Name: "codemode demo", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}})
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var err error
	d.session, err = client.Connect(ctx, &mcp.CommandTransport{Command: d.server}, nil)
	return err
}

// kill ends the server without a word to it.
func (d *demo) kill() {
	if d.session != nil { // else the SDK has ended what it could not connect to
		_ = d.server.Process.Kill()
		_ = d.session.Close() // which waits for the process
		d.session = nil
	}
}

// restart kills the server, waits for the end of a request to it, and starts another one.
func (d *demo) restart(ctx context.Context, request <-chan answered) error {
	d.kill()
	<-request
	return d.start(ctx)
}

// answered is what became of a request.
type answered struct {
	text string
	err  error
}

// eval sends a program. A request with the same key gets the run of the first one.
func (d *demo) eval(ctx context.Context, key, code string) <-chan answered {
	done := make(chan answered, 1)
	session := d.session
	go func() {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "codemode_eval",
			Meta:      mcp.Meta{"codemode/idempotencyKey": key},
			Arguments: map[string]any{"code": code}})
		if err != nil {
			done <- answered{err: err}
			return
		}
		text := ""
		for _, c := range result.Content {
			if t, ok := c.(*mcp.TextContent); ok {
				text += t.Text
			}
		}
		done <- answered{text: text}
	}()
	return done
}

// result shows what a program's request gave.
func (d *demo) result(ctx context.Context, request <-chan answered) error {
	select {
	case got := <-request:
		if got.err != nil {
			return got.err
		}
		d.show(got.text)
		return nil
	case <-time.After(limit):
		return errors.New("the program did not end")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A question is what the process asks: some calls, shown as one.
type question struct {
	view  string
	calls []terminal.Said // a yes to each
}

// question waits until the program's writes wait for a person, and its run is in the database.
func (d *demo) question(ctx context.Context) (*terminal.Responder, *question, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		sockets, _ := filepath.Glob(filepath.Join(responder.SocketFolder(d.path("state")), "*")) // the pattern is sound
		for _, socket := range sockets {
			link, err := terminal.Respond(ctx, socket)
			if err != nil {
				continue // that of the killed process
			}
			_ = link.Say(terminal.Said{Kind: "width", Width: 100}) // it is gone if this fails
			if q := read(ctx, link); q != nil {
				return link, q, d.parked(ctx)
			}
			link.Close()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, nil, errors.New("the program asked nobody")
		}
	}
}

// read reads until both writes are asked about.
func read(ctx context.Context, link *terminal.Responder) *question {
	defer context.AfterFunc(ctx, func() { link.Close() })()
	for {
		told, err := link.Next()
		if err != nil {
			return nil
		}
		if len(told.Batches) == 0 {
			continue
		}
		q := &question{view: told.Batches[0].View.Text()}
		for _, c := range told.Calls {
			q.calls = append(q.calls, terminal.Said{Kind: "answer", ID: c.ID, Digest: c.Digest, Yes: true})
		}
		return q
	}
}

// reply answers all calls.
func (q *question) reply(link *terminal.Responder, yes bool) error {
	for _, said := range q.calls {
		said.Yes = yes
		if err := link.Say(said); err != nil {
			return err
		}
	}
	return nil
}

// parked waits until the record says that the run waits without its process.
func (d *demo) parked(ctx context.Context) error {
	for {
		out, err := d.command(ctx, "audit", "list", "--config", d.path("codemode.json"), "--state", d.path("state"), "--json")
		if err != nil || strings.Contains(out, `"state":"parked"`) {
			return err
		}
	}
}

// command runs another command of codemode.
func (d *demo) command(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, d.self, args...).Output()
	if err != nil {
		return "", fmt.Errorf("codemode %s: %w", strings.Join(args[:2], " "), err)
	}
	return string(out), nil
}
