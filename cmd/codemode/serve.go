package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/server"
)

func newServe(s streams) *cobra.Command {
	var set setting
	var session string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Offer the tools that run programs to an MCP client, over stdio",
		Long: `Offers codemode_eval and codemode_eval_<profile> to one MCP client over standard
input and output. With --profile only the tool of that profile is offered. A change
of the configuration file takes effect at once. Ends when standard input closes.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), s, &set, session) },
	}
	set.flags(cmd)
	set.recordFlags(cmd)
	cmd.Flags().StringVar(&session, "session", "", "the session that overlays know this connection by")
	return cmd
}

func serve(ctx context.Context, s streams, set *setting, session string) error {
	log := set.logger(s, slog.LevelInfo)
	stop := set.awaitResponders(log)
	defer stop()
	e, err := set.open(ctx, log)
	if err != nil {
		return err
	}
	srv := server.New(e, server.Options{
		Profile: set.profile, Principal: principal(), Session: session, Local: true, Version: version().Version, Log: log,
	})
	defer srv.Close()
	err = srv.ServeStdio(ctx, s.in, s.out)
	if ctx.Err() != nil {
		err = nil // told to stop
	}
	if err := errors.Join(err, closeEvaluator(ctx, e)); err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	return nil
}

// stopWait is how long running programs have when a command ends.
const stopWait = 5 * time.Second

// closeEvaluator stops everything, also after ctx has ended.
func closeEvaluator(ctx context.Context, e *codemode.Evaluator) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	return e.Close(ctx)
}
