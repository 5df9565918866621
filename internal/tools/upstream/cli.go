package upstream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/upstream/builtin"
)

const (
	stderrShown = 4 << 10                // of the end of a command's standard error, in an error
	endTime     = 500 * time.Millisecond // from SIGTERM to SIGKILL, when a call ends before its command
	lastTime    = 5 * time.Second        // for the commands of a server that is removed
)

// A commandLink is the link to a program that each call starts. Nothing runs between calls.
type commandLink struct {
	*inProcessLink
	program Command
	starter *Starter
	life    context.Context // ends the commands
	end     context.CancelCauseFunc
}

// openCLI finds the program, and starts nothing.
func (h *host) openCLI(s *Server) (link, error) {
	l := &commandLink{starter: h.starter}
	var err error
	if l.program, err = h.command(s); err != nil {
		return nil, err
	}
	path, err := LookPath(l.program.Name, l.program.Dir, l.program.Env)
	if err != nil {
		return nil, err
	}
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".bat" || ext == ".cmd" {
		return nil, fmt.Errorf("a shell reads %s, and takes words for commands: name a program", path)
	}
	l.life, l.end = context.WithCancelCause(context.Background())
	own := *s
	own.BuiltIn = &builtin.Server{Name: s.Name}
	for i := range s.CLI.Tools {
		own.BuiltIn.Tools = append(own.BuiltIn.Tools, l.tool(&s.CLI.Tools[i]))
	}
	l.inProcessLink = newInProcessLink(&own, h.log)
	return l, nil
}

// tool is a command line as a tool. Its title is the line, so that whoever accepts the tool accepts the line.
func (l *commandLink) tool(line *servers.CommandLine) builtin.Tool {
	t := builtin.Tool{Name: line.Name, Title: line.Shown, Description: line.Description, Input: line.Input,
		Annotations: hintsOf(line.Effect, line.Effect+", by the configuration", "")}
	if line.Output == "lines" {
		t.Output = json.RawMessage(`{"type":"array","items":{"type":"string"}}`)
	}
	t.Call = func(ctx context.Context, args json.RawMessage) (any, error) {
		limit := time.Duration(line.Timeout) * time.Millisecond
		ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it ran longer than %v", limit))
		defer cancel()
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		defer context.AfterFunc(l.life, func() { stop(context.Cause(l.life)) })()
		return l.run(ctx, line, args)
	}
	return t
}

// run runs a command. Nothing of it is left when run returns.
func (l *commandLink) run(ctx context.Context, line *servers.CommandLine, args json.RawMessage) (any, error) {
	words, stdin, err := fill(ctx, line, args)
	if err != nil {
		return nil, fmt.Errorf("nothing was started: %w", err)
	}
	program := l.program
	program.Args = slices.Concat(program.Args, words)
	c, err := l.starter.Start(program)
	if err != nil {
		return nil, fmt.Errorf("nothing was started: %w", err)
	}
	defer c.Kill()
	defer context.AfterFunc(ctx, func() { endSoon(c) })()
	sent := make(chan struct{})
	go func() { // ends with the process at the latest
		defer close(sent)
		_ = c.Send(ctx, []byte(stdin), func() {}) // a program need not read all
		_ = c.stdin.Close()
	}()
	out, err := io.ReadAll(io.LimitReader(c, line.MaxOutput+1))
	tooLong := int64(len(out)) > line.MaxOutput
	if tooLong {
		c.Kill()
	}
	<-c.gone
	<-sent
	switch code := int64(c.cmd.ProcessState.ExitCode()); {
	case ctx.Err() != nil:
		return nil, &Error{Server: l.server.Name, Tool: line.Name, Unknown: true, Err: context.Cause(ctx)}
	case tooLong:
		return nil, fmt.Errorf("its output is longer than %d bytes, so it was ended; \"maxOutput\" in the configuration is "+
			"the bound", line.MaxOutput)
	case !slices.Contains(line.ExitCodes, code) && (code != 0 || line.ExitCodes != nil):
		return nil, l.exit(c, line, code, out)
	case err != nil:
		return nil, &Error{Server: l.server.Name, Tool: line.Name, Unknown: true,
			Err: fmt.Errorf("reading its output: %w", err)}
	}
	return outputOf(line, out)
}

// endSoon ends a command that may have something to put in order, such as a lock of git.
func endSoon(c *Child) {
	terminateGroup(c.PID())
	select {
	case <-c.exited:
	case <-time.After(endTime):
	}
	c.Kill()
}

// exit says that a command failed.
func (l *commandLink) exit(c *Child, line *servers.CommandLine, code int64, out []byte) error {
	message := "it ended with " + c.cmd.ProcessState.String()
	said, _ := c.Stderr()
	said = strings.ToValidUTF8(said[max(0, len(said)-stderrShown):], "")
	if said != "" {
		message += ", and wrote: " + said
	}
	if c.Refused() != "" && saysRefused(said) {
		message += " (" + c.Refused() + ")"
	}
	value := marshal(map[string]any{"exitCode": code, "output": strings.ToValidUTF8(string(out), "\uFFFD")})
	return &ToolError{Server: l.server.Name, Tool: line.Name, Message: message,
		Result: &Result{Structured: value, Value: value}}
}

// outputOf is the value of what a command wrote.
func outputOf(line *servers.CommandLine, out []byte) (any, error) {
	switch {
	case line.Output == "json":
		v, err := strictjson.Parse(out, strictjson.Options{AllowHugeNumbers: true})
		if err != nil {
			return nil, fmt.Errorf("its output is no JSON: %w", err)
		}
		return json.RawMessage(v.Source()), nil
	case utf8.Valid(out) && line.Output == "text":
		return string(out), nil
	case utf8.Valid(out):
		lines := []string{}
		for text := range strings.Lines(string(out)) {
			lines = append(lines, strings.TrimRight(text, "\r\n"))
		}
		return lines, nil
	case line.Output == "lines":
		return nil, errors.New(`its output is not UTF-8: with "output": "text" in the configuration it is bytes`)
	}
	return builtin.Block{"type": "resource", "resource": map[string]string{"uri": "output:///" + line.Name,
		"mimeType": "application/octet-stream", "blob": base64.StdEncoding.EncodeToString(out)}}, nil
}

// close waits for commands that run, and then ends them.
func (l *commandLink) close(grace context.Context) {
	grace, cancel := context.WithTimeout(grace, lastTime)
	defer cancel()
	l.inProcessLink.close(grace)
	l.end(errClosed)
	<-l.idle // soon: they are being ended
}
