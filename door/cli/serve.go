package cli

import (
	"fmt"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/domain"
)

func (a *app) serveCommand() *cobra.Command {
	var o ServeOptions
	var runner uint32
	var labels map[string]string
	format, level := "text", slog.LevelInfo
	c := &cobra.Command{
		Use: "serve", Short: "Run a node until it is told to stop", Args: cobra.NoArgs,
		Long: `Run a node on --data until it gets SIGTERM or Ctrl-C; it then lets running jobs go on for --grace.

It always listens on a socket in its data folder, for this user. --listen adds TCP, where every request needs a token.`,
		Example: "  ramet serve --data /var/lib/ramet\n  ramet serve --board redis://localhost:6379 --listen :7480",
		RunE: func(c *cobra.Command, _ []string) error {
			if a.hooks.Serve == nil {
				return domain.Invalidf("this program cannot run a node")
			}
			if a.nodeGiven {
				return domain.Invalidf("--node is for commands that talk to a node; serve wants --data")
			}
			if err := o.checkListen(); err != nil {
				return err
			}
			if o.Grace < 0 || o.Lease < 0 {
				return domain.Invalidf("--grace and --lease: want a positive duration such as 30s")
			}
			o.Labels = labels
			if err := o.Labels.Validate(); err != nil {
				return fmt.Errorf("--label: %w", err)
			}
			logger, err := a.logger(format, level)
			if err != nil {
				return err
			}
			o.DataDir, o.Socket, o.BoardURL, o.ConfigFile = a.data, SocketPath(a.data), a.board, a.config
			o.ArchiveURL = a.archive
			o.RunnerID, o.Logger = domain.RunnerID(runner), logger
			if err := makeDirs(o.DataDir, o.Socket); err != nil {
				return err
			}
			return a.hooks.Serve(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Listen, "listen", "", "`address` to listen on over TCP, host:port (default: none)")
	f.StringVar(&o.TLSCert, "tls-cert", "", "certificate `file` (PEM) for --listen")
	f.StringVar(&o.TLSKey, "tls-key", "", "its key `file` (PEM)")
	f.StringVar(&o.Name, "name", "", "the node's `name` (default: remembered, at first the host's)")
	f.Uint32Var(&runner, "runner-id", 0, "its runner's `number` (default: remembered, at first the next free one)")
	f.StringToStringVar(&labels, "label", nil, "`name=value` by which jobs choose the node; may be repeated")
	f.DurationVar(&o.Grace, "grace", 0, "how long running jobs may go on at the end (default: the config's, 30s)")
	f.DurationVar(&o.Lease, "lease", 0, "length of a job's lease (default: the config's, 30s)")
	f.StringVar(&format, "log-format", format, "text or json")
	f.TextVar(&level, "log-level", level, "debug, info, warn or error")
	return c
}

// checkListen checks the flags about TCP before anything is opened.
//
// Errors: [domain.ErrInvalid].
func (o ServeOptions) checkListen() error {
	if o.Listen == "" {
		if o.TLSCert != "" || o.TLSKey != "" {
			return domain.Invalidf("--tls-cert and --tls-key are for --listen, which is missing")
		}
		return nil
	}
	_, port, err := net.SplitHostPort(o.Listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return domain.Invalidf("--listen %q: want host:port or :port, for example :7480", o.Listen)
	}
	return nil
}

// logger writes what happens to the standard error.
func (a *app) logger(format string, level slog.Level) (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: level}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(a.std.Err, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.std.Err, o)), nil
	}
	return nil, domain.Invalidf("--log-format %q: want text or json", format)
}
