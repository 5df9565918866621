package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveProber is an MCP server that tries what a hostile server would try. Its tool try fails with the system's words.
func serveProber() {
	if path := os.Getenv("CODEMODE_TEST_NEEDS"); path != "" {
		if _, err := os.ReadFile(path); err != nil {
			println("cannot start:", err.Error())
			os.Exit(1)
		}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "prober", Version: "1"}, nil)
	type what struct {
		What string `json:"what"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "try"}, func(_ context.Context, _ *mcp.CallToolRequest, w what) (*mcp.CallToolResult,
		any, error) {
		if err := probe(strings.Fields(w.What)); err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	_ = s.Run(context.Background(), &mcp.StdioTransport{}) // the end of its input ends it
}

func probe(words []string) (err error) {
	word, arg, other := words[0], "", ""
	if len(words) > 1 {
		arg = words[1]
	}
	if len(words) > 2 {
		other = words[2]
	}
	switch word {
	case "read":
		_, err = os.ReadFile(arg)
	case "write":
		err = os.WriteFile(arg, []byte("x"), 0o600)
	case "temp":
		var f *os.File
		if f, err = os.CreateTemp("", "x"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	case "tcp", "unix":
		var c net.Conn
		if c, err = net.Dial(word, arg); err == nil {
			err = c.Close()
		}
	case "listen":
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			err = l.Close()
		}
	case "signal":
		err = signalParent()
	case "environment":
		_, err = os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/environ")
	case "memory":
		_, err = os.Open("/proc/" + strconv.Itoa(os.Getppid()) + "/mem")
	case "socket": // of the approvals, in the state folder
		var found []string
		if found, err = filepath.Glob(filepath.Join(arg, "*.sock")); err == nil && len(found) == 0 {
			return probe([]string{"unix", filepath.Join(arg, "any.sock")})
		} else if err == nil {
			return probe([]string{"unix", found[0]})
		}
	case "end":
		os.Exit(1)
	default:
		return probeMore(word, arg, other, words[1:])
	}
	return err
}

// probeAndSay is a process that tries what its arguments say.
func probeAndSay() (code int) {
	if err := probe(os.Args[1:]); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
