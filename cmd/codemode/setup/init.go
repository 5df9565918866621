// Package setup is the command "init": it reads the configuration files of other MCP clients, writes one for codemode,
// and puts codemode into the clients, with a way back. It also knows what to paste into each client, and which servers
// a client starts without codemode.
//
// mcpClients is the table of the clients. A plan says what changes, and package clientfile changes it; a book keeps
// what was there before.
package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/spf13/cobra"
)

// New makes the command "init".
func New(s cli.Streams) *cobra.Command {
	var o initOptions
	var set launch.Settings
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration from those of other MCP clients, and put codemode into them",
		Long: `Finds the MCP servers of your MCP clients, prints a plan, and writes one configuration with
all of them and a careful profile: codemode asks you before each call, and denies what no
rule mentions. It copies values as they are; only you can read the file.

With --install it also changes the clients: their servers go behind codemode, and codemode
becomes a server of each. It starts each server once, and proposes rules from what the
tools say about themselves: those that only read are allowed, the others are asked about,
and destructive ones are of high risk. Each file is copied first; the rest of it stays byte
for byte. codemode init --undo brings everything back. What codemode cannot serve, what does
not start, and what is switched off stays where it is.

At a terminal it asks before it writes. Elsewhere --install or --yes is the yes. The clients:
` + clientNames() + `.
Without --install, --client only prints what to paste into these clients.

With --openapi it reads the description of an HTTP API instead, and proposes an entry and a
profile: what reads is allowed, what writes is asked about, what destroys is denied.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.state, err = set.StateFolder(); err != nil {
				return cli.UsageError(err)
			}
			return initialize(cmd.Context(), s, &o)
		},
	}
	set.StateFlag(cmd)
	cmd.Flags().StringVar(&o.out, "out", "", "file to write (default: the one that codemode reads without --config)")
	cmd.Flags().BoolVar(&o.force, "force", false,
		"overwrite the file if it exists; with --undo, also files in which the servers cannot be put back")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "print what would be written, and write nothing")
	cmd.Flags().BoolVar(&o.install, "install", false, "put codemode into the clients, and their servers behind it")
	cmd.Flags().BoolVar(&o.undo, "undo", false, "bring back all that --install changed")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.noStart, "no-start", false, "start no server: propose to ask about every tool")
	cmd.Flags().BoolVar(&o.codexApprove, "codex-approve", false,
		"Codex does not ask before codemode's tools (default_tools_approval_mode): codemode asks about their calls")
	cmd.Flags().StringVar(&o.project, "project", "", "also read the clients' files of the project in this folder")
	cmd.Flags().StringSliceVar(&o.clients, "client", nil,
		"only these clients; without --install or --undo, print what to paste into them")
	cmd.Flags().StringVar(&o.openapi, "openapi", "", "write one with the HTTP API that this file or address describes")
	cmd.Flags().StringVar(&o.name, "name", "", "with --openapi, the server's name (default: a word of the title)")
	cmd.MarkFlagsMutuallyExclusive("install", "undo", "openapi")
	return cmd
}

// clientNames lists the names with their ids, in lines that fit a help text.
func clientNames() string {
	var lines []string
	line := ""
	for i, c := range mcpClients {
		word := c.name + " (" + c.id + ")"
		if i < len(mcpClients)-1 {
			word += ", "
		}
		if len(line)+len(word) > 92 {
			lines, line = append(lines, strings.TrimRight(line, " ")), ""
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

func initialize(ctx context.Context, s cli.Streams, o *initOptions) error {
	p, err := usualPlaces()
	if err == nil {
		err = checkBin()
	}
	if err != nil {
		return cli.UsageError(err)
	}
	for _, id := range o.clients {
		if clientByID(id) == nil {
			return cli.UsageError(fmt.Errorf("there is no client %q; there are %s", id, strings.Join(clientIDs(), ", ")))
		}
	}
	standard := filepath.Join(p.config, "codemode", "codemode.json")
	for _, path := range []*string{&o.out, &o.project} {
		if *path != "" {
			if *path, err = filepath.Abs(*path); err != nil {
				return cli.UsageError(err)
			}
		}
	}
	o.out = cmp.Or(o.out, standard)
	switch {
	case o.undo:
		return undo(ctx, s, p, o)
	case o.openapi != "":
		return proposeAPI(ctx, s, p, o)
	case !o.install && len(o.clients) > 0:
		how := start{command: serveCommand(o.out), approved: o.codexApprove}
		err := printPaste(s, o.clients, findClients(p, "", os.LookupEnv), how)
		if _, missing := os.Stat(o.out); err == nil && errors.Is(missing, fs.ErrNotExist) {
			visible.Fprintf(s.Err, "\n%s does not exist yet: codemode init writes it, without --client.\n", p.short(o.out))
		}
		return err
	}
	if n, found := FindNamesake(p.env("PATH")); found {
		visible.Fprintf(s.Out, "%s: %s: %s.\n\n", p.short(n.Path), n, n.WayOut())
	}
	found := findClients(p, o.project, os.LookupEnv)
	if o.install {
		return install(ctx, s, p, o, found)
	}
	chosen := choose(found, nil, (*clientEntry).isNamesake)
	printFound(s, p, found, chosen)
	printWithout(s, found)
	text := configurationText(p, chosen, nil, p.opensTerminals(formless(found)))
	if _, err := config.Parse(o.out, text); err != nil { // cannot happen; better here than at the next start
		return cli.InternalError(fmt.Errorf("the new configuration is not valid: %w", err))
	}
	if o.dry {
		fmt.Fprintf(s.Out, "\n%s", visible.Text(string(text)))
		return nil
	}
	if _, err := os.Lstat(o.out); err == nil && !o.force {
		return cli.UsageError(existsError(o.out))
	}
	visible.Fprintf(s.Out, "\nThis writes %s, and starts and changes nothing else.\n", p.short(o.out))
	if yes, err := agreed(ctx, s, o); !yes {
		return err
	}
	if err := writePrivate(o.out, text, o.force); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = existsError(o.out)
		}
		return cli.UsageError(err)
	}
	printNext(s, p, o.out, standard, found, chosen)
	return nil
}

func existsError(out string) error {
	return fmt.Errorf("%s exists already, and was not changed: --force overwrites it, --out writes another file, "+
		"--install adds to it, --dry-run prints", out)
}

// install puts codemode into the clients, and their servers behind it.
func install(ctx context.Context, s cli.Streams, p places, o *initOptions, found []*clientFile) error {
	x, err := makePlan(p, o, found)
	if err != nil {
		return err
	}
	b, err := openBook(o.state)
	if err != nil {
		return cli.UsageError(err)
	}
	printFound(s, p, x.files(), x.chosen)
	if x.empty() {
		x.printTroubles(s)
		fmt.Fprintln(s.Out, "\nNothing is to be done: no client has a server that could go behind codemode.")
		return nil
	}
	x.print(s, b, !o.noStart)
	if o.dry {
		fmt.Fprintln(s.Out, "\nNothing was changed.")
		return nil
	}
	if yes, err := agreed(ctx, s, o); !yes {
		return err
	}
	text, notes, err := x.configuration(nil)
	if err != nil {
		return err
	}
	var tools []tool
	if starts := x.starts(); len(starts) > 0 && !o.noStart {
		var failed map[string]string
		if tools, failed, err = askTools(ctx, text, starts); err != nil {
			return cli.InternalError(err)
		}
		if ctx.Err() != nil {
			return ctx.Err() // nothing was changed
		}
		x.leave(failed)
		if text, notes, err = x.configuration(tools); err != nil {
			return err
		}
	}
	how, err := x.start(text, o.state)
	if err != nil {
		return cli.UsageError(err)
	}
	for _, c := range x.clients {
		if c.err == nil {
			c.edit(x, how)
		}
	}
	if err := x.apply(b, text); err != nil {
		return cli.InternalError(err)
	}
	x.printDone(s, tools, notes)
	return nil
}

// undo brings back what installations changed.
func undo(ctx context.Context, s cli.Streams, p places, o *initOptions) error {
	b, err := openBook(o.state)
	if err != nil {
		return cli.UsageError(err)
	}
	files, err := b.undo(o.clients, o.force)
	if err != nil {
		return cli.UsageError(err)
	}
	if len(files) == 0 {
		return cli.UsageError(fmt.Errorf("there is nothing to undo: %s lists no change", filepath.Join(b.dir, bookFile)))
	}
	refused := 0
	for _, r := range files {
		visible.Fprintf(s.Out, "%s: %s\n", p.short(r.file), r.summary())
		if r.err != nil {
			refused++
		}
		for _, name := range r.left {
			visible.Fprintf(s.Out, "  %s is not put back, because another server there has its name; a copy is in %s\n", name, b.dir)
		}
	}
	if o.dry {
		fmt.Fprintln(s.Out, "Nothing was changed.")
		return nil
	}
	if yes, err := agreed(ctx, s, o); !yes {
		return err
	}
	if err := b.restore(files); err != nil {
		return cli.InternalError(err)
	}
	fmt.Fprintf(s.Out, "Restored %s.\n", cli.Count(len(files)-refused, "file"))
	if refused > 0 {
		return cli.UsageError(fmt.Errorf("%s could not be restored: --force makes them what they were; the copies are in %s",
			cli.Count(refused, "file"), b.dir))
	}
	return nil
}
